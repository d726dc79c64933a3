#include "log/text_finder.h"

#include <algorithm>
#include <cstring>

namespace rekindle::doctor {
namespace {

constexpr std::uint32_t mask_of(std::size_t bytes) noexcept {
    return bytes >= 4 ? 0xFFFFFFFFU : (1U << (8 * bytes)) - 1;
}

constexpr std::uint32_t hash_of(std::uint32_t window) noexcept {
    return window * 0x9E3779B1U; // 2^32 divided by the golden ratio
}

/// The bytes at `text`, the first one lowest.
std::uint32_t window_at(const char* text, std::size_t bytes) noexcept {
    std::uint32_t window = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        window |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return window;
}

/// How common a byte is in logs: 3 for the most common ones, 0 for rare ones.
unsigned commonness(char c) noexcept {
    if (std::string_view(" etaoinsr").find(c) != std::string_view::npos)
        return 3;
    if (std::string_view("hldcumfpgw0123.").find(c) != std::string_view::npos)
        return 2;
    return std::string_view("ybvk456789:-/=_").find(c) != std::string_view::npos ? 1 : 0;
}

/// Where the least common window of a text begins.
std::size_t rarest_window(std::string_view text, std::size_t bytes) noexcept {
    std::size_t best = 0;
    unsigned lowest = ~0U;
    for (std::size_t begin = 0; begin + bytes <= text.size(); ++begin) {
        unsigned sum = 0;
        for (const char c : text.substr(begin, bytes))
            sum += commonness(c);
        if (sum < lowest) {
            lowest = sum;
            best = begin;
        }
    }
    return best;
}

/// Without branches, so that the compiler vectorizes it.
void lower(std::string_view line, char* into) noexcept {
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto byte = static_cast<unsigned char>(line[i]);
        const bool upper = static_cast<unsigned char>(byte - 'A') < 26;
        into[i] = static_cast<char>(byte | (upper ? 0x20U : 0U));
    }
}

} // namespace

TextFinder::TextFinder(const std::vector<std::string>& texts) : texts_(texts), seen_(texts.size(), 0) {
    std::array<std::vector<Entry>, window_bytes> entries;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        const std::string& text = texts_[i];
        const std::size_t bytes = std::min<std::size_t>(text.size(), window_bytes);
        const std::size_t offset = rarest_window(text, bytes);
        entries[bytes - 1].push_back({window_at(text.data() + offset, bytes), static_cast<std::int32_t>(i),
                                      static_cast<std::uint32_t>(offset)});
    }
    for (std::size_t i = 0; i < tables_.size(); ++i)
        build(tables_[i], std::move(entries[i]));
}

void TextFinder::build(Table& table, std::vector<Entry> entries) {
    const auto bucket_of = [](const Entry& entry) { return hash_of(entry.window) >> (32 - bucket_bits); };
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const Entry& a, const Entry& b) { return bucket_of(a) < bucket_of(b); });
    table.filter.assign((std::size_t{1} << filter_bits) / 64, 0);
    table.bucket.assign((std::size_t{1} << bucket_bits) + 1, 0);
    for (const Entry& entry : entries) {
        const std::uint32_t bit = hash_of(entry.window) >> (32 - filter_bits);
        table.filter[bit / 64] |= std::uint64_t{1} << (bit % 64);
        ++table.bucket[bucket_of(entry) + 1];
    }
    for (std::size_t i = 1; i < table.bucket.size(); ++i)
        table.bucket[i] += table.bucket[i - 1];
    table.entries = std::move(entries);
}

void TextFinder::compare(const Table& table, std::uint32_t window, std::size_t at, std::vector<int>& found) {
    const std::uint32_t bucket = hash_of(window) >> (32 - bucket_bits);
    for (std::uint32_t i = table.bucket[bucket]; i < table.bucket[bucket + 1]; ++i) {
        const Entry& entry = table.entries[i];
        const auto text = static_cast<std::size_t>(entry.text);
        if (entry.window != window || seen_[text] == line_ || at < entry.offset)
            continue;
        // Behind the line are zeros, which no text contains, so a text that reaches beyond the end differs.
        const std::string& whole = texts_[text];
        if (at - entry.offset + whole.size() > lowered_.size() ||
            std::memcmp(lowered_.data() + at - entry.offset, whole.data(), whole.size()) != 0)
            continue;
        seen_[text] = line_;
        found.push_back(entry.text);
    }
}

template <bool with_short>
void TextFinder::search(std::size_t size, std::vector<int>& found) {
    const char* const text = lowered_.data();
    // Local, so that the compiler knows that compare() does not change them.
    const std::uint64_t* const four = tables_[3].filter.data();
    const std::uint64_t* const three = tables_[2].filter.data();
    const std::uint64_t* const two = tables_[1].filter.data();
    const std::uint64_t* const one = tables_[0].filter.data();
    const auto may_be = [](const std::uint64_t* filter, std::uint32_t window) {
        const std::uint32_t bit = hash_of(window) >> (32 - filter_bits);
        return (filter[bit / 64] >> (bit % 64) & 1U) != 0;
    };
    for (std::size_t at = 0; at < size; ++at) {
        const std::uint32_t window = window_at(text + at, window_bytes);
        if (may_be(four, window)) [[unlikely]]
            compare(tables_[3], window, at, found);
        if (may_be(three, window & mask_of(3))) [[unlikely]]
            compare(tables_[2], window & mask_of(3), at, found);
        if constexpr (with_short) {
            if (may_be(two, window & mask_of(2))) [[unlikely]]
                compare(tables_[1], window & mask_of(2), at, found);
            if (may_be(one, window & mask_of(1))) [[unlikely]]
                compare(tables_[0], window & mask_of(1), at, found);
        }
    }
}

void TextFinder::find(std::string_view line, std::vector<int>& found) {
    found.clear();
    if (texts_.empty())
        return;
    if (++line_ == 0) { // after 2^32 lines the marks would be mistaken for those of this line
        std::fill(seen_.begin(), seen_.end(), 0);
        line_ = 1;
    }
    lowered_.resize(line.size() + window_bytes);
    lower(line, lowered_.data());
    std::fill(lowered_.end() - window_bytes, lowered_.end(), '\0');
    if (tables_[0].entries.empty() && tables_[1].entries.empty())
        search<false>(line.size(), found);
    else
        search<true>(line.size(), found);
}

} // namespace rekindle::doctor
