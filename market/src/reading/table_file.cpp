#include "reading/open_text_source.h"

#include <rekindle/base/hash.h>
#include <rekindle/market/table_file.h>

namespace rekindle::market {

std::string table_text(const std::filesystem::path& path) {
    constexpr std::size_t piece_size = 1 << 20;
    Hasher unused;
    const auto source = reading::open_text_source(path, unused, {});
    std::string text;
    for (std::string_view piece = source->next(piece_size); !piece.empty(); piece = source->next(piece_size))
        text += piece;
    return text;
}

} // namespace rekindle::market
