#include "log/ending.h"

#include "log/clean_line.h"

#include <fmt/format.h>

#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

/// The part of a traceback read so far.
struct Traceback {
    std::string frame;     ///< "train.py:77"
    std::string exception; ///< "KeyError"
    bool about_gpu = false;
};

bool read_frame(std::string_view line, Traceback& traceback) {
    static const RE2 frame(R"re(^\s*File "(?:[^"]*[/\\])?([^"/\\]+)", line (\d+))re");
    static const RE2 library(
        R"([/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3|<frozen|[/\\]importlib[/\\])");
    std::string file;
    std::string number;
    if (!RE2::PartialMatch(line, frame, &file, &number))
        return false;
    if (!RE2::PartialMatch(line, library))
        traceback.frame = fmt::format("{}:{}", file, number);
    return true;
}

bool read_exception(std::string_view line, Traceback& traceback) {
    static const RE2 exception(R"(^(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Exit))\b\s*(?::|$))");
    static const RE2 gpu(
        R"((?i)cuda|\bhip|rocm|cudnn|cublas|nccl|miopen|hsa|vulkan|\bgpu|nvidia|\.so\b|\.dll\b|triton|device|out of memory|DataLoader worker)");
    if (!RE2::PartialMatch(line, exception, &traceback.exception))
        return false;
    traceback.about_gpu = RE2::PartialMatch(line, gpu);
    return true;
}

} // namespace

std::string program_ending(const LogText& log) {
    Traceback last;
    bool inside = false;
    constexpr std::string_view beginning = "Traceback (most recent call last)";
    for (const LogText::Line& entry : log.lines) {
        if (!inside && entry.text.find(beginning) == std::string::npos)
            continue;
        const std::string_view line = without_prefix(entry.text);
        if (line.starts_with(beginning)) {
            inside = true;
            last = Traceback{};
        } else if (inside && !read_frame(line, last) && read_exception(line, last)) {
            inside = false;
        }
    }
    if (inside || last.exception.empty() || last.frame.empty() || last.about_gpu)
        return "";
    return fmt::format("{} in {}", last.exception, last.frame);
}

} // namespace rekindle::doctor
