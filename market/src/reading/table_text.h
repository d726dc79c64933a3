#pragma once
/// Writes the numbers and times of binary files as fields of a CSV file, without loss. Functions named write_
/// return the end of the text, for which at most longest_number characters are needed; those named append_ do
/// the same at the end of a string.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

inline constexpr std::size_t longest_number = 48;

/// "2024-03-15" for days since 1970. For years outside 1900 to 2199, a text that the row parser rejects.
char* write_date(std::int64_t days, char* out) noexcept;
/// "09:31:00", with as many decimals as `fraction` / `per_second` needs. Precondition: per_second is a power
/// of ten up to 10^12.
char* write_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, char* out) noexcept;
/// "2024-03-15 09:31:00" for a count of 1/per_second seconds since 1970, with as many decimals as it needs.
char* write_time(std::int64_t count, std::int64_t per_second, char* out) noexcept;
/// The shortest decimal number that gives the same float; "nan" or "inf" where there is none.
char* write_real(float value, char* out) noexcept;
char* write_real(double value, char* out) noexcept;
char* write_integer(std::int64_t value, char* out) noexcept;
char* write_integer(std::uint64_t value, char* out) noexcept;
/// value · 10^-scale, without trailing zeros. Precondition: 0 <= scale <= 18.
char* write_fixed(std::int64_t value, int scale, char* out) noexcept;

void append_date(std::int64_t days, std::string& text);
void append_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, std::string& text);
void append_time(std::int64_t count, std::int64_t per_second, std::string& text);
void append_real(float value, std::string& text);
void append_real(double value, std::string& text);
void append_integer(std::int64_t value, std::string& text);
void append_integer(std::uint64_t value, std::string& text);
void append_fixed(std::int64_t value, int scale, std::string& text);
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;
/// value · 10^-scale with all of its decimals. Precondition: 0 <= scale.
void append_decimal(Wide value, int scale, std::string& text);
/// A text, in quotes if it contains commas or quotes; control characters become question marks.
void append_quoted(std::string_view value, std::string& text);

} // namespace rekindle::market::reading
