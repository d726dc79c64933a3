#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/market/feature_export.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

namespace rekindle::market {
namespace {

constexpr std::int64_t seconds_per_day = 86400;

void append_date(std::string& text, std::int64_t days) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
    fmt::format_to(std::back_inserter(text), "{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

void append_stamp(std::string& text, std::int64_t time) {
    const std::int64_t second = ((time % seconds_per_day) + seconds_per_day) % seconds_per_day;
    append_date(text, (time - second) / seconds_per_day);
    fmt::format_to(std::back_inserter(text), "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60,
                   second % 60);
}

void append_number(std::string& text, double value) {
    std::array<char, 32> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    text.append(buffer.data(), result.ptr);
}

std::string quoted_if_needed(const std::string& text) {
    if (text.find_first_of(",\"") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

/// Magic, version, header length and header, padded so that the data start at a multiple of 64 bytes.
std::string npy_header(const FeatureMatrix& matrix, NpyType type) {
    constexpr std::size_t fixed = 10;
    constexpr std::size_t npy_alignment = 64;
    std::string dictionary =
        fmt::format("{{'descr': '<{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                    type == NpyType::float64 ? "f8" : "f4", matrix.rows(), matrix.columns());
    dictionary.append(npy_alignment - 1 - (fixed + dictionary.size()) % npy_alignment, ' ');
    dictionary += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(dictionary.size() & 0xff);
    header += static_cast<char>(dictionary.size() >> 8);
    return header + dictionary;
}

float to_float32(const FeatureMatrix& matrix, std::size_t index) {
    const double value = matrix.values[index];
    if (std::abs(value) > std::numeric_limits<float>::max())
        throw usage_error(fmt::format("feature {} has the value {} in row {}",
                                      matrix.names[index % matrix.columns()], value,
                                      index / matrix.columns()))
            .expected("values that fit into float32")
            .hint("Export float64 instead.");
    return static_cast<float>(value);
}

} // namespace

void write_features_csv(const std::filesystem::path& path, const FeatureMatrix& matrix, const BarEnds& ends,
                        std::string_view zone_mark, std::span<const std::string> instruments) {
    AtomicFile file(path);
    std::string line = instruments.empty() ? "date,known_at" : "instrument,date,known_at";
    for (const std::string& name : matrix.names)
        (line += ',') += name;
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
        line += '\n';
        file.write(line);
        line.clear();
        if (!instruments.empty())
            line += quoted_if_needed(instruments[matrix.instrument_of(row)]) + ",";
        append_date(line, matrix.dates[row]);
        line += ',';
        append_stamp(line, ends.of(matrix.known_at[row]));
        line += zone_mark;
        for (const double value : matrix.row(row)) {
            line += ',';
            append_number(line, value);
        }
    }
    line += '\n';
    file.write(line);
    file.commit();
}

void write_features_npy(const std::filesystem::path& path, const FeatureMatrix& matrix, NpyType type) {
    static_assert(std::endian::native == std::endian::little, "the file is little-endian");
    AtomicFile file(path);
    file.write(npy_header(matrix, type));
    if (type == NpyType::float64) {
        file.write(std::as_bytes(std::span(matrix.values)));
    } else {
        for (std::size_t i = 0; i < matrix.values.size(); ++i) {
            const float value = to_float32(matrix, i);
            file.write(std::as_bytes(std::span(&value, 1)));
        }
    }
    file.commit();
}

} // namespace rekindle::market
