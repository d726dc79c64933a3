#pragma once
/// Files for tests and shortcuts to read them.

#include "temporary_folder.h"

#include <rekindle/foundation/error.h>
#include <rekindle/market/read_bars.h>
#include <rekindle/market/simulate.h>

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::market {

/// The first line of most files.
inline const std::string bars_header = "time,open,high,low,close,volume\n";

/// A temporary folder to write files to.
class TestFolder : public test::TemporaryFolder {
  public:
    std::filesystem::path write(const std::string& name, std::string_view content) const {
        std::ofstream(path() / name, std::ios::binary) << content;
        return path() / name;
    }
};

/// The bytes of a gzip file with this content.
inline std::string packed(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string result(deflateBound(&stream, text.size()) + 64, '\0');
    std::string input = text;
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

inline ReadOptions options_for(const std::filesystem::path& path) {
    ReadOptions options;
    options.paths = {path};
    return options;
}

inline ReadResult read_with(const ReadOptions& options, std::size_t threads = 1) {
    ThreadPool pool(threads);
    NullLogSink log;
    const CancellationToken cancel;
    return read_bars(options, pool, log, cancel);
}

/// Reads the text as one file.
inline ReadResult read_text(std::string_view text, ReadOptions options = {},
                            const std::string& name = "bars.csv") {
    const TestFolder folder;
    options.paths = {folder.write(name, text)};
    return read_with(options);
}

/// The rendered error from reading the text, without the folder; "" if there is none.
inline std::string error_of(std::string_view text, ReadOptions options = {},
                            const std::string& name = "bars.csv") {
    const TestFolder folder;
    options.paths = {folder.write(name, text)};
    std::string message;
    try {
        read_with(options);
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage) << error.render();
        message = error.render();
    }
    const std::string prefix = folder.path().string() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
        message.erase(at, prefix.size());
    return message;
}

/// The text of a simulated file: several contracts, a VIX column, and a note as its first line.
inline std::string simulated_text(std::int64_t bars, std::uint64_t seed = 5) {
    std::string text;
    simulate_csv({.bars = bars, .seed = seed}, [&](std::string_view piece) { text += piece; });
    return text;
}

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
    return {values.begin(), values.end()};
}

/// The bits of the values, so that NaN equals NaN.
inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
    std::vector<std::uint32_t> result;
    for (const float value : values)
        result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
}

/// All but the VIX.
inline void expect_same_bars(const BarTable& a, const BarTable& b) {
    EXPECT_EQ(copy_of(a.columns().time), copy_of(b.columns().time));
    EXPECT_EQ(copy_of(a.columns().open), copy_of(b.columns().open));
    EXPECT_EQ(copy_of(a.columns().high), copy_of(b.columns().high));
    EXPECT_EQ(copy_of(a.columns().low), copy_of(b.columns().low));
    EXPECT_EQ(copy_of(a.columns().close), copy_of(b.columns().close));
    EXPECT_EQ(copy_of(a.columns().volume), copy_of(b.columns().volume));
    EXPECT_EQ(copy_of(a.columns().contract), copy_of(b.columns().contract));
    EXPECT_EQ(a.metadata().contracts, b.metadata().contracts);
    EXPECT_EQ(a.metadata().tick, b.metadata().tick);
    EXPECT_EQ(a.metadata().bar_seconds, b.metadata().bar_seconds);
    EXPECT_EQ(a.metadata().dates_only, b.metadata().dates_only);
}

inline void expect_same_bars_and_vix(const BarTable& a, const BarTable& b) {
    expect_same_bars(a, b);
    EXPECT_EQ(bits_of(a.columns().vix), bits_of(b.columns().vix));
}

} // namespace rekindle::market
