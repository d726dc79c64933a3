#include "log/text_finder.h"

namespace rekindle::doctor {
namespace {

std::uint8_t lower(std::uint8_t byte) noexcept {
    return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte + ('a' - 'A')) : byte;
}

} // namespace

TextFinder::TextFinder(const std::vector<std::string>& texts) : seen_(texts.size(), 0) {
    for (const std::string& text : texts)
        for (const char c : text)
            if (std::uint8_t& kind = kind_of_[static_cast<std::uint8_t>(c)]; kind == 0 && kinds_ < 256)
                kind = static_cast<std::uint8_t>(kinds_++);
    for (std::size_t byte = 0; byte < kind_of_.size(); ++byte)
        kind_of_[byte] = kind_of_[lower(static_cast<std::uint8_t>(byte))];
    next_.assign(kinds_, none);
    text_.assign(1, none);
    for (std::size_t i = 0; i < texts.size(); ++i)
        add(texts[i], static_cast<int>(i));
    add_fallbacks();
}

void TextFinder::add(const std::string& text, int index) {
    std::int32_t state = 0;
    for (const char c : text) {
        const std::uint8_t kind = kind_of_[static_cast<std::uint8_t>(c)];
        if (next(state, kind) == none) {
            const auto added = static_cast<std::int32_t>(text_.size());
            next_.resize(next_.size() + kinds_, none);
            text_.push_back(none);
            next(state, kind) = added;
        }
        state = next(state, kind);
    }
    text_[static_cast<std::size_t>(state)] = index;
}

/// Turns the tree of texts into an automaton, breadth-first: a mismatch continues in the state of the longest
/// suffix that is in the tree.
void TextFinder::add_fallbacks() {
    shorter_.assign(text_.size(), none);
    std::vector<std::int32_t> fallback(text_.size(), 0);
    std::vector<std::int32_t> queue{0};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const std::int32_t state = queue[head];
        const std::int32_t suffix = fallback[static_cast<std::size_t>(state)];
        for (std::size_t kind = 0; kind < kinds_; ++kind) {
            std::int32_t& to = next(state, static_cast<std::uint8_t>(kind));
            const std::int32_t otherwise = state == 0 ? 0 : next(suffix, static_cast<std::uint8_t>(kind));
            if (to == none) {
                to = otherwise;
                continue;
            }
            fallback[static_cast<std::size_t>(to)] = otherwise;
            shorter_[static_cast<std::size_t>(to)] = text_[static_cast<std::size_t>(otherwise)] != none
                                                         ? otherwise
                                                         : shorter_[static_cast<std::size_t>(otherwise)];
            queue.push_back(to);
        }
    }
}

void TextFinder::find(std::string_view line, std::vector<int>& found) {
    found.clear();
    if (seen_.empty())
        return;
    ++line_;
    std::int32_t state = 0;
    for (const char c : line) {
        state = next(state, kind_of_[static_cast<std::uint8_t>(c)]);
        const std::int32_t first = text_[static_cast<std::size_t>(state)] != none
                                       ? state
                                       : shorter_[static_cast<std::size_t>(state)];
        for (std::int32_t end = first; end != none; end = shorter_[static_cast<std::size_t>(end)]) {
            const std::int32_t text = text_[static_cast<std::size_t>(end)];
            std::uint32_t& seen = seen_[static_cast<std::size_t>(text)];
            if (seen == line_)
                break; // its suffixes were found with it
            seen = line_;
            found.push_back(text);
        }
    }
}

} // namespace rekindle::doctor
