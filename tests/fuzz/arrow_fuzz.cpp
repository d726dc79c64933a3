#include "arrow_arrays.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/read_bars.h>

#include <algorithm>
#include <array>

namespace {

using rekindle::test::ArrowColumn;

/// Takes numbers from the input, and zeros after its end.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    std::uint8_t byte() {
        if (left_ == 0)
            return 0;
        --left_;
        return *data_++;
    }
    bool empty() const { return left_ == 0; }
    std::unique_ptr<ArrowColumn::Buffer> buffer(std::size_t size) {
        auto bytes = std::make_unique<ArrowColumn::Buffer>(size);
        std::generate(bytes->begin(), bytes->end(), [&] { return std::byte{byte()}; });
        return bytes;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

constexpr std::array formats{"n",   "b",   "c",    "C",       "s", "S",  "i",     "I",        "l",
                             "L",   "e",   "f",    "g",       "u", "U",  "vu",    "tdD",      "tdm",
                             "tts", "ttn", "tss:", "tsn:UTC", "z", "+l", "d:9,2", "d:9,2,32", "d:18,4,64"};
constexpr std::array widths{0, 1,  1, 1, 2, 2, 4, 4, 8, 8, 2,  4, 8, 4,
                            8, 16, 4, 8, 4, 8, 8, 8, 4, 4, 16, 4, 8};
static_assert(formats.size() == widths.size());
constexpr std::array names{"time", "open", "high", "low", "close", "volume", "contract", "vix"};

/// The last position must say where the texts' characters end, as the interface requires: the importer cannot
/// see the size of their buffer.
template <class Position>
void bound_positions(ArrowColumn::Buffer& buffer, Position most) {
    for (std::size_t i = 0; i + sizeof(Position) <= buffer.size(); i += sizeof(Position)) {
        Position position;
        std::memcpy(&position, buffer.data() + i, sizeof position);
        if (position > most)
            position = static_cast<Position>(position % (most + 1));
        std::memcpy(buffer.data() + i, &position, sizeof position);
    }
}

ArrowColumn column_of(Input& input, const char* name, std::size_t rows, bool may_have_dictionary) {
    constexpr int most_characters = 64;
    const std::size_t kind = input.byte() % formats.size();
    ArrowColumn column;
    column.name = name;
    column.format = formats[kind];
    column.offset = input.byte() % 4 == 0 ? input.byte() % 3 : 0;
    column.length = static_cast<std::int64_t>(rows) + (input.byte() % 16 == 0 ? input.byte() % 3 - 1 : 0);
    column.nulls = input.byte() % 4 - 1;
    const std::size_t values =
        static_cast<std::size_t>(std::max<std::int64_t>(0, column.length + column.offset));
    if (column.format != "n") {
        if (input.byte() % 2 == 0)
            column.without_buffer();
        else
            column.buffers.push_back(input.buffer(values / 8 + 1));
        const bool texts = column.format == "u" || column.format == "U" || column.format == "z";
        column.buffers.push_back(input.buffer(
            column.format == "b" ? values / 8 + 1
                                 : (values + (texts ? 1 : 0)) * static_cast<std::size_t>(widths[kind])));
        if (texts) {
            if (widths[kind] == 4)
                bound_positions<std::int32_t>(*column.buffers.back(), most_characters);
            else
                bound_positions<std::int64_t>(*column.buffers.back(), most_characters);
            column.buffers.push_back(input.buffer(most_characters));
        }
        if (column.format == "vu") {
            column.buffers.push_back(input.buffer(most_characters));
            column.with<std::int64_t>({most_characters});
        }
        if (input.byte() % 32 == 0)
            column.buffers.pop_back();
    }
    if (may_have_dictionary && input.byte() % 8 == 0)
        column.dictionary = std::make_unique<ArrowColumn>(column_of(input, "", input.byte() % 8, false));
    return column;
}

} // namespace

/// The input chooses a table's columns, their buffers and what the structures claim about them. Buffers are
/// as large as the structures say, because the interface does not pass their sizes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rekindle;
    Input input(data, size);
    const std::size_t rows = input.byte() % 32;
    std::vector<ArrowColumn> columns;
    for (std::size_t i = 0; i < names.size() && !input.empty(); ++i)
        columns.push_back(column_of(input, names[i], rows, true));
    test::ArrowRecord record(std::move(columns), static_cast<std::int64_t>(rows));
    try {
        market::ReadOptions options;
        options.paths = {market::memory_path("table")};
        options.tables.emplace(options.paths.front(),
                               market::ArrowTable::read(record.schema(), record.array()));
        options.skip_bad_rows = true;
        ThreadPool pool(1);
        NullLogSink log;
        const CancellationToken cancel;
        market::read_bars(options, pool, log, cancel);
    } catch (const Error& error) {
        if (error.status() != ExitStatus::usage)
            __builtin_trap();
    }
    return 0;
}
