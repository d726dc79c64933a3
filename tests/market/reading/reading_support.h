#pragma once
/// Files for tests and shortcuts to read them.

#include <rekindle/base/error.h>
#include <rekindle/market/read_bars.h>

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace rekindle::market {

/// A folder that is deleted with the object.
class TestFolder {
  public:
    TestFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rekindle-reading-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, std::string_view content) const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
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

} // namespace rekindle::market
