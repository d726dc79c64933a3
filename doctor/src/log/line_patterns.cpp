#include "log/line_patterns.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace rekindle::doctor {
namespace {

constexpr std::int64_t automaton_bytes = std::int64_t{4} << 20;

std::unique_ptr<RE2> compiled(const std::string& pattern) {
    RE2::Options options(RE2::Quiet);
    options.set_case_sensitive(false);
    options.set_max_mem(automaton_bytes);
    return std::make_unique<RE2>(pattern, options);
}

bool contains_any(std::string_view pattern, std::initializer_list<std::string_view> assertions) {
    return std::any_of(assertions.begin(), assertions.end(), [&](std::string_view assertion) {
        return pattern.find(assertion) != std::string_view::npos;
    });
}

/// Only these assertions look at what is before the match.
LinePatterns::LooksBack looks_back_of(std::string_view pattern) {
    if (contains_any(pattern, {"^", "\\A"}))
        return LinePatterns::LooksBack::at_the_start;
    return contains_any(pattern, {"\\b", "\\B"}) ? LinePatterns::LooksBack::at_a_character
                                                 : LinePatterns::LooksBack::no;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

} // namespace

int LinePatterns::add(std::string_view pattern) {
    if (known_ != nullptr)
        if (const auto found = known_->find(pattern); found != known_->end())
            return add_valid(pattern, found->second);
    const std::optional<NeededTexts> needed = needed_texts(pattern);
    return needed ? add_valid(pattern, *needed) : -1;
}

int LinePatterns::add_valid(std::string_view pattern, const NeededTexts& needed) {
    Pattern& added = patterns_.emplace_back();
    added.text = pattern;
    added.looks_back = looks_back_of(pattern);
    const auto number = static_cast<int>(patterns_.size()) - 1;
    for (const std::vector<std::string>& group : needed) {
        std::vector<int>& texts = added.groups.emplace_back();
        for (const std::string& text : group)
            texts.push_back(index_of(text));
    }
    if (added.groups.empty())
        always_.push_back(number);
    else
        for (const int text : added.groups.front())
            patterns_of_[static_cast<std::size_t>(text)].push_back(number);
    return number;
}

LinePatterns::Known LinePatterns::known() const {
    Known known;
    for (const Pattern& pattern : patterns_) {
        NeededTexts& needed = known[pattern.text];
        needed.clear(); // the same pattern may have been added twice
        for (const std::vector<int>& group : pattern.groups)
            for (std::vector<std::string>& texts = needed.emplace_back(); const int text : group)
                texts.push_back(texts_[static_cast<std::size_t>(text)]);
    }
    return known;
}

int LinePatterns::index_of(const std::string& text) {
    const auto [place, added] = numbers_.try_emplace(text, static_cast<int>(texts_.size()));
    if (added) {
        texts_.push_back(text);
        patterns_of_.emplace_back();
    }
    return place->second;
}

void LinePatterns::compile() {
    finder_ = TextFinder(texts_);
}

void LinePatterns::find_possible(std::string_view line, std::vector<int>& numbers) const {
    finder_.find(line, found_);
    numbers = always_;
    if (found_.empty())
        return;
    ++line_;
    for (const int text : found_)
        for (const int number : patterns_of_[static_cast<std::size_t>(text)])
            if (Pattern& pattern = patterns_[static_cast<std::size_t>(number)]; pattern.line != line_) {
                pattern.line = line_;
                if (needs_are_found(pattern))
                    numbers.push_back(number);
            }
    std::sort(numbers.begin(), numbers.end());
}

/// Precondition: a text of the first group was found.
bool LinePatterns::needs_are_found(const Pattern& pattern) const {
    const auto is_found = [&](int text) { return finder_.found_last(text); };
    return std::all_of(pattern.groups.begin() + 1, pattern.groups.end(), [&](const std::vector<int>& group) {
        return std::any_of(group.begin(), group.end(), is_found);
    });
}

PossibleMatches LinePatterns::find_possible(const LogText& log) const {
    PossibleMatches possible;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < log.lines.size(); ++i) {
        find_possible(log.lines[i].text, numbers);
        if (numbers.empty())
            continue;
        const std::size_t begin = possible.numbers.size();
        possible.numbers.insert(possible.numbers.end(), numbers.begin(), numbers.end());
        possible.lines.push_back({i, begin, possible.numbers.size()});
    }
    return possible;
}

const RE2& LinePatterns::expression(int number) const {
    Pattern& pattern = patterns_[static_cast<std::size_t>(number)];
    if (pattern.expression == nullptr)
        pattern.expression = compiled(pattern.text);
    return *pattern.expression;
}

bool LinePatterns::matches(int number, std::string_view line) const {
    return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), expression(number));
}

bool LinePatterns::matches_only_rest(int number, std::string_view line, std::string_view rest) const {
    if (rest.empty() || rest.size() == line.size())
        return false;
    switch (looks_back(number)) {
    case LooksBack::no:
        return false;
    case LooksBack::at_a_character: // the start of a text is like a character that belongs to no word
        if (!is_word(line[line.size() - rest.size() - 1]))
            return false;
        break;
    case LooksBack::at_the_start:
        break;
    }
    return matches(number, rest);
}

void LinePatterns::match(std::string_view line, std::vector<int>& numbers) const {
    find_possible(line, numbers);
    std::erase_if(numbers, [&](int number) { return !matches(number, line); });
}

} // namespace rekindle::doctor
