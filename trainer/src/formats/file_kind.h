#pragma once
/// Recognizes the kind of a file that was given as a model, by its first bytes.

#include <filesystem>
#include <string>
#include <string_view>

namespace rekindle::trainer {

enum class FileKind {
    torch,       ///< a zip or an older file of torch.save
    safetensors, ///< a length and a JSON header
    json,
    other,
};

struct RecognizedFile {
    FileKind kind = FileKind::other;
    std::string what;   ///< "a picture (PNG)"; empty when it is not recognized
    std::string advice; ///< what to give in its place; may be empty
};

/// `beginning`: the first kilobytes; `name`: the file's name, which identifies formats without a signature.
RecognizedFile recognize(std::string_view beginning, std::string_view name);

} // namespace rekindle::trainer
