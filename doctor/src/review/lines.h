#pragma once
/// The lines of a document, and its text for RE2.

#include <algorithm>
#include <cstddef>
#include <re2/re2.h>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

struct Line {
    std::string_view text;  ///< without the line end
    std::size_t begin = 0;  ///< offset in the document
    std::size_t number = 0; ///< from 1
};

inline std::vector<Line> lines_of(std::string_view document) {
    std::vector<Line> lines;
    for (std::size_t begin = 0; begin < document.size();) {
        const std::size_t end = std::min(document.find('\n', begin), document.size());
        lines.push_back({document.substr(begin, end - begin), begin, lines.size() + 1});
        begin = end + 1;
    }
    return lines;
}

inline re2::StringPiece piece(std::string_view text) {
    return {text.data(), text.size()};
}

/// Number of spaces that begin a line.
inline std::size_t indentation(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

} // namespace rekindle::doctor
