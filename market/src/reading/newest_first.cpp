#include "reading/newest_first.h"

#include <algorithm>
#include <deque>
#include <string>

namespace rekindle::market::reading {

namespace {

struct Part {
    std::string text;
    ParsedBlock block;
};

template <class T>
void reverse(std::vector<T>& values) {
    std::reverse(values.begin(), values.end());
}

void reverse_rows(ParsedBlock& block) {
    reverse(block.bars.time);
    for (auto* prices : {&block.bars.open, &block.bars.high, &block.bars.low, &block.bars.close})
        reverse(*prices);
    reverse(block.bars.volume);
    reverse(block.bars.contract);
    reverse(block.bars.vix);
    reverse(block.bars.bid_volume);
    reverse(block.bars.ask_volume);
    reverse(block.line);
    reverse(block.offset);
}

} // namespace

void read_newest_first(TextSource& source, const RowParser& parser, std::size_t piece_size, ThreadPool& pool,
                       BarCollector& collector, const std::function<void()>& report_progress) {
    std::deque<Part> parts; // a deque, because the blocks refer to the texts, which must not move
    std::size_t before_rows = parser.layout().data_offset;
    for (std::string_view text = source.next(piece_size); !text.empty(); text = source.next(piece_size)) {
        const std::size_t skip = std::min(before_rows, text.size());
        before_rows -= skip;
        const std::size_t first = parts.size();
        for (const std::string_view block : split_blocks(text.substr(skip)))
            parts.push_back({std::string(block), {}});
        pool.for_each(parts.size() - first, [&](std::size_t job) {
            Part& part = parts[first + job];
            parser.parse(part.text, part.block);
            reverse_rows(part.block);
        });
        report_progress();
    }
    std::uint64_t end_line = parser.layout().data_line;
    for (const Part& part : parts)
        end_line += part.block.lines;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        end_line -= part->block.lines;
        collector.add_at(part->block, end_line);
    }
}

} // namespace rekindle::market::reading
