#pragma once
/// The safetensors format: an eight-byte length, a JSON header, the tensors. Holds no code by design.

#include <rekindle/mlp/model.h>

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::trainer {

struct SafeTensors {
    std::vector<mlp::NamedTensor> tensors; ///< in the order of their data; converted to float32
    std::map<std::string, std::string> metadata;
};

/// Reads F64, F32, F16, BF16, I64, I32, I16, I8, U8 and BOOL. Throws Error (usage) naming the file for an
/// invalid header: wrong sizes, data that overlaps or leaves gaps, an unknown type, a duplicate name.
SafeTensors read_safetensors(const std::filesystem::path& path);
SafeTensors parse_safetensors(std::string_view bytes, const std::string& name);

/// Writes F32, atomically; the data begins at a multiple of 64 bytes.
void write_safetensors(const std::filesystem::path& path, std::span<const mlp::NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

using FloatSink = std::function<void(std::span<const float>)>;
/// A tensor that need not be in memory as a whole: `values` passes them to the sink piece by piece,
/// row-major.
struct StreamedTensor {
    std::string name;
    std::vector<std::size_t> shape;
    std::function<void(const FloatSink&)> values;
};
/// The same file from streamed tensors. Throws Error (internal) when one produces a different number of
/// values than its shape has.
void write_safetensors(const std::filesystem::path& path, std::span<const StreamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

} // namespace rekindle::trainer
