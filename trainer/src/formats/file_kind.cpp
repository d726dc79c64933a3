#include "file_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rekindle::trainer {

namespace {

constexpr const char* run_advice = "Give the run folder, or its best_model.pt.";

struct Mark {
    std::string_view bytes;
    const char* what;
    const char* advice;
};

constexpr std::array marks{
    Mark{"RKCKPT", "a checkpoint of a run that may still be training",
         "rekindle train --resume-from-checkpoint RUN finishes the run; then give the run folder."},
    Mark{"RKBARS", "a column file with bars", run_advice},
    Mark{"\x89PNG", "a picture (PNG)", run_advice},
    Mark{"\x89HDF", "an HDF5 file, as Keras writes it",
         "Only PyTorch's .pt files and safetensors hold networks that can be read here."},
    Mark{"\x93NUMPY", "a NumPy array", run_advice},
    Mark{"<!DOCTYPE", "an HTML page", run_advice},
    Mark{"<html", "an HTML page", run_advice},
    Mark{"\x1f\x8b", "compressed with gzip", "Unpack it first: gunzip FILE."},
    Mark{"\xfd"
         "7zXZ",
         "compressed with xz", "Unpack it first: unxz FILE."},
    Mark{"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it first: unzstd FILE."},
    Mark{"BZh", "compressed with bzip2", "Unpack it first: bunzip2 FILE."},
    Mark{"GGUF", "a GGUF file", run_advice},
    Mark{"\x08\x07\x12", "an ONNX graph, without the metadata of its training", run_advice},
    Mark{"\x08\x08\x12", "an ONNX graph, without the metadata of its training", run_advice},
    Mark{"\x08\x09\x12", "an ONNX graph, without the metadata of its training", run_advice},
    Mark{"\x08\x0a\x12", "an ONNX graph, without the metadata of its training", run_advice},
    Mark{"version https://git-lfs", "a pointer of Git LFS, not the file itself",
         "git lfs pull fetches the file."},
    Mark{"7z\xbc\xaf", "a 7-Zip archive", "Unpack it first."},
};

bool is_safetensors(std::string_view bytes) {
    if (bytes.size() < 9)
        return false;
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
        length = length << 8U | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return length < std::uint64_t{1} << 40U && bytes[8] == '{';
}

std::string_view without_leading_spaces(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

bool is_text(std::string_view bytes) {
    return std::none_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 9; });
}

} // namespace

RecognizedFile recognize(std::string_view beginning, std::string_view name) {
    if (beginning.empty())
        return {FileKind::other, "empty", "Copy or download it again."};
    if (is_safetensors(beginning)) // first, because the length bytes can look like any other format
        return {FileKind::safetensors, "", ""};
    const bool tar = beginning.size() > 262 && beginning.substr(257, 5) == "ustar";
    const bool pickle =
        beginning.size() > 1 && beginning[0] == '\x80' && beginning[1] >= 0 && beginning[1] <= 5;
    if (beginning.starts_with("PK") || tar || pickle)
        return {FileKind::torch, "", ""};
    for (const Mark& mark : marks)
        if (beginning.starts_with(mark.bytes))
            return {FileKind::other, mark.what, mark.advice};
    const std::string_view text = without_leading_spaces(beginning);
    if (name.ends_with(".jsonl"))
        return {FileKind::other, "a list of metrics, one line per epoch", run_advice};
    if (text.starts_with('{') || text.starts_with('['))
        return {FileKind::json, "", ""};
    if (name.ends_with(".safetensors"))
        return {FileKind::safetensors, "", ""}; // whose reader says what is wrong with it
    if (name.ends_with(".log"))
        return {FileKind::other, "a log", run_advice};
    if (name.ends_with(".csv"))
        return {FileKind::other, "a table (CSV)", "Bars go to --data; --model takes a run folder."};
    if (is_text(beginning))
        return {FileKind::other, "a text file", run_advice};
    return {FileKind::other, "", run_advice};
}

} // namespace rekindle::trainer
