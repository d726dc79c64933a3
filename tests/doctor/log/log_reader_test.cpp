#include "log/clean_line.h"

#include <rekindle/doctor/diagnosis.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace rekindle::doctor {
namespace {

using Parts = std::vector<std::string>;

class LogReader : public testing::Test {
  protected:
    LogReader() {
        std::string name = (std::filesystem::temp_directory_path() / "rekindle-log-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~LogReader() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path path(std::string_view name) const { return folder_ / name; }

    std::filesystem::path folder_;
};

TEST(CleanLine, TerminalColorsTitlesAndBackspacesAreRemoved) {
    EXPECT_EQ(clean_line("\x1b[1;31mRuntimeError\x1b[0m: \x1b]0;title\aHIP error"),
              Parts{"RuntimeError: HIP error"});
    EXPECT_EQ(clean_line("\x1b]8;;http://x\x1b\\link\x1b(B"), Parts{"link"});
    EXPECT_EQ(clean_line("abX\bc"), Parts{"abc"});
    EXPECT_EQ(clean_line("\xc3\xa9\b!"), Parts{"!"});
    EXPECT_EQ(clean_line("cut \x1b["), Parts{"cut"});
}

TEST(CleanLine, OverwrittenProgressIsSkippedAndMessagesStay) {
    EXPECT_EQ(clean_line("  3%|#  | 1/30\r  7%|## | 2/30\r"), Parts{"  7%|## | 2/30"});
    EXPECT_EQ(clean_line(" 50%|###| 3.1it/s\rRuntimeError: no"), Parts{"RuntimeError: no"});
    EXPECT_EQ(clean_line("RuntimeError: no\r 50%|###| 3.1it/s"),
              (Parts{"RuntimeError: no", " 50%|###| 3.1it/s"}));
    EXPECT_EQ(clean_line("windows line\r"), Parts{"windows line"});
    EXPECT_TRUE(clean_line(" \t\r\r").empty());
}

TEST(CleanLine, BytesThatAreNotTextBecomeQuestionMarks) {
    EXPECT_EQ(clean_line(std::string("a\0b\x01", 4)), Parts{"a?b?"});
    EXPECT_EQ(clean_line("gr\xc3\xbc\xc3\x9f"
                         "e \xff\xc3("),
              Parts{"grüße ?\?("});
    EXPECT_EQ(clean_line("\xed\xa0\x80\xc0\xaf"), Parts{"?????"}); // a surrogate and an overlong slash
}

TEST(CleanLine, LongLinesAreCutBetweenCharacters) {
    std::string text(log_line_limit - 1, 'a');
    const Parts parts = clean_line(text + "ü and more");
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0], text);
}

TEST(CleanLine, PrefixesOfLoggingSystems) {
    for (const char* text :
         {"HIP error", "[rank0]: HIP error", "> HIP error", "web-1  | HIP error", "[   12.345678] HIP error",
          "2026-11-21T13:25:01.123Z HIP error", "Nov 21 13:25:01 host kernel: [  1.5] HIP error",
          "[2026-11-21 13:25:01,123] HIP error", "    HIP error", "2026-11-21 13:25:01 HIP error",
          "(EngineCore pid=12) HIP error"})
        EXPECT_EQ(without_prefix(text), "HIP error") << text;
    for (const char* text :
         {"['AMD Radeon', 'x1']", "[drm] ready", "Note: a | b", "10.1.0 works", "RuntimeError: 1"})
        EXPECT_EQ(without_prefix(text), text);
}

TEST(LogText, LinesKeepTheirNumbersAndBlankOnesAreSkipped) {
    const LogText log = log_from_text("first\n\n\r\nfourth\rfourth again\nlast", "posted");
    ASSERT_EQ(log.lines.size(), 4U);
    EXPECT_EQ(log.lines[1].number, 4U);
    EXPECT_EQ(log.lines[2].number, 4U);
    EXPECT_EQ(log.lines[3].text, "last");
    EXPECT_EQ(log.lines[3].number, 5U);
    EXPECT_EQ(log.name, "posted");
    EXPECT_FALSE(log.shortened);
}

TEST(LogText, PowerShellUtf16IsRead) {
    std::string text("\xff\xfe", 2);
    for (const char c : std::string_view("HIP error\r\nend"))
        text += {c, '\0'};
    text += "\x3a\x26"; // ☺
    const LogText log = log_from_text(text, "posted");
    ASSERT_EQ(log.lines.size(), 2U);
    EXPECT_EQ(log.lines[0].text, "HIP error");
    EXPECT_EQ(log.lines[1].text, "end?");
}

TEST_F(LogReader, AFileOfTenGigabytesIsReadAtItsEnds) {
    const auto file = path("big.log");
    write_file_atomically(file, "Linux version 6.8.0\n");
    std::filesystem::resize_file(file, std::uint64_t{10} << 30);
    {
        const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND);
        ASSERT_GE(descriptor, 0);
        const std::string_view end = "\nRuntimeError: HIP error\nAborted\n";
        ASSERT_EQ(::write(descriptor, end.data(), end.size()), static_cast<ssize_t>(end.size()));
        ::close(descriptor);
    }
    const LogText log = read_log(file);
    EXPECT_TRUE(log.shortened);
    EXPECT_GT(log.bytes, std::uint64_t{10} << 30);
    ASSERT_GE(log.lines.size(), 3U);
    EXPECT_EQ(log.lines.front().text, "Linux version 6.8.0");
    EXPECT_EQ(log.lines.front().number, 1U);
    EXPECT_EQ(log.lines.back().text, "Aborted");
    EXPECT_EQ(log.lines.back().number, 0U);
    EXPECT_LT(log.lines.size(), 10U);
}

TEST_F(LogReader, APipeIsReadInConstantMemoryAndItsLinesAreCounted) {
    const auto fifo = path("pipe");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    constexpr std::uint64_t lines = 400'000;
    std::thread writer([&] {
        const int descriptor = ::open(fifo.c_str(), O_WRONLY);
        std::string block;
        for (std::uint64_t i = 1; i <= lines; ++i) {
            block +=
                "step " + std::to_string(i) + " of the training, all is well so far, nothing to see here\n";
            if (block.size() > 60'000 || i == lines) {
                for (std::size_t done = 0; done < block.size();) {
                    const ssize_t wrote = ::write(descriptor, block.data() + done, block.size() - done);
                    if (wrote <= 0)
                        break;
                    done += static_cast<std::size_t>(wrote);
                }
                block.clear();
            }
        }
        ::close(descriptor);
    });
    const LogText log = read_log(fifo);
    writer.join();
    EXPECT_TRUE(log.shortened);
    EXPECT_EQ(log.lines.front().number, 1U);
    EXPECT_EQ(log.lines.back().number, lines);
    EXPECT_EQ(log.lines.back().text.substr(0, 12), "step 400000 ");
    std::size_t bytes = 0;
    for (const LogText::Line& line : log.lines)
        bytes += line.text.size();
    EXPECT_LT(bytes, std::size_t{20} << 20);
}

TEST(LogText, EndlessShortLinesNeedLittleMemory) {
    std::string text;
    for (int i = 0; i < 4'000'000; ++i)
        text += i % 3 == 0 ? "a\n" : i % 3 == 1 ? "b\r" : "\n";
    text += "the end";
    const LogText log = log_from_text(text, "posted");
    EXPECT_TRUE(log.shortened);
    EXPECT_LT(log.lines.size(), 600'000U);
    EXPECT_EQ(log.lines.back().text, "the end");
    EXPECT_EQ(log.lines.front().number, 1U);
    // Carriage returns only, in one line.
    const LogText returns = log_from_text(std::string(8 << 20, '\r') + "x", "posted");
    EXPECT_EQ(returns.lines.size(), 1U);
    std::string many;
    for (int i = 0; i < 1'000'000; ++i)
        many += "a\r";
    EXPECT_LE(log_from_text(many, "posted").lines.size(), 256U);
}

TEST_F(LogReader, AHoleInAFileEndsALine) {
    const auto file = path("hole.log");
    write_file_atomically(file, "epoch 1\n");
    std::filesystem::resize_file(file, std::uintmax_t{10} << 30);
    {
        std::ofstream end(file, std::ios::app);
        end << "RuntimeError: HIP error: invalid device function\n";
    }
    const LogText log = read_log(file);
    ASSERT_FALSE(log.lines.empty());
    EXPECT_EQ(log.lines.front().text, "epoch 1");
    EXPECT_EQ(log.lines.back().text, "RuntimeError: HIP error: invalid device function");
}

TEST_F(LogReader, AProgramIsNotALogButColoredTextIs) {
    std::string bytes;
    for (int i = 0; i < 100'000; ++i)
        bytes += static_cast<char>(i * 7919 % 251);
    write_file_atomically(path("program"), bytes);
    EXPECT_THROW(read_log(path("program")), Error);
    write_file_atomically(path("colors"), "\x1b[31mError\x1b[0m\r 50%\r100%\b\n\xe4\xf6\xfc caf\xe9\n");
    EXPECT_EQ(read_log(path("colors")).lines.front().text, "Error");
}

TEST_F(LogReader, FilesThatCannotBeOpenedAreErrors) {
    EXPECT_THROW(read_log(path("absent.log")), Error);
    try {
        read_log(folder_);
        FAIL() << "a folder was read";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), ExitStatus::usage);
    }
}

TEST(LogText, AnyBytesGiveLinesWithinTheLimit) {
    std::mt19937 random(7);
    constexpr std::string_view bits[] = {"\x1b[", "\x1b]", "\r", "\n",      "\b",
                                         "\xff",  "\xc3",  "%|", "gfx1100", " "};
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        const std::size_t parts = random() % 40;
        for (std::size_t i = 0; i < parts; ++i) {
            if (random() % 3 == 0)
                text += static_cast<char>(random() % 256);
            else
                text += bits[random() % std::size(bits)];
        }
        for (const LogText::Line& line : log_from_text(text, "fuzz").lines) {
            ASSERT_LE(line.text.size(), log_line_limit);
            for (const char c : line.text)
                ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\t') << round;
            ASSERT_LE(without_prefix(line.text).size(), line.text.size());
        }
    }
}

TEST(ReadLog, APipeThatNobodyWritesToEndsWithASentence) {
    const std::filesystem::path pipe =
        std::filesystem::temp_directory_path() / ("rekindle-pipe-" + std::to_string(::getpid()));
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    try {
        read_log(pipe);
        ADD_FAILURE() << "it was read";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.message()).find("nobody writes"), std::string::npos) << error.message();
    }
    std::filesystem::remove(pipe);
}

} // namespace
} // namespace rekindle::doctor
