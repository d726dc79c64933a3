#include "log/line_patterns.h"

#include <algorithm>

namespace rekindle::doctor {
namespace {

constexpr std::int64_t automaton_bytes = std::int64_t{64} << 20;

RE2::Options options() {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    options.set_max_mem(automaton_bytes);
    return options;
}

} // namespace

LinePatterns::LinePatterns() : options_(options()), set_(options_, RE2::UNANCHORED) {}

int LinePatterns::add(std::string_view pattern) {
    const int number = set_.Add(pattern, nullptr);
    if (number >= 0)
        patterns_.emplace_back(pattern);
    return number;
}

void LinePatterns::compile() {
    compiled_ = !patterns_.empty() && set_.Compile();
}

void LinePatterns::match(std::string_view line, std::vector<int>& numbers) const {
    numbers.clear();
    RE2::Set::ErrorInfo error{};
    if (compiled_ && (set_.Match(line, &numbers, &error) || error.kind == RE2::Set::kNoError)) {
        std::sort(numbers.begin(), numbers.end());
        return;
    }
    numbers.clear();
    for (std::size_t i = 0; i < patterns_.size(); ++i)
        if (RE2::PartialMatch(line, RE2(patterns_[i], options_)))
            numbers.push_back(static_cast<int>(i));
}

} // namespace rekindle::doctor
