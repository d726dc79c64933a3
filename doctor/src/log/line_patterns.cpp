#include "log/line_patterns.h"

#include <algorithm>

namespace rekindle::doctor {
namespace {

constexpr std::int64_t automaton_bytes = std::int64_t{4} << 20;
constexpr int shortest_text = 3; ///< bytes; shorter texts occur in too many lines to filter by

RE2::Options options() {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    options.set_max_mem(automaton_bytes);
    return options;
}

} // namespace

LinePatterns::LinePatterns() : options_(options()), patterns_(shortest_text) {}

int LinePatterns::add(std::string_view pattern) {
    int number = -1;
    const auto error = patterns_.Add(re2::StringPiece(pattern.data(), pattern.size()), options_, &number);
    return error == RE2::NoError ? number : -1;
}

void LinePatterns::compile() {
    std::vector<std::string> texts;
    compiled_ = patterns_.NumRegexps() > 0;
    if (compiled_)
        patterns_.Compile(&texts);
    finder_ = TextFinder(texts);
}

void LinePatterns::match(std::string_view line, std::vector<int>& numbers) const {
    numbers.clear();
    if (!compiled_)
        return;
    finder_.find(line, texts_);
    patterns_.AllMatches(re2::StringPiece(line.data(), line.size()), texts_, &numbers);
    std::sort(numbers.begin(), numbers.end());
}

} // namespace rekindle::doctor
