#pragma once
/// Writes the numbers and times of binary files as fields of a CSV file, without loss.

#include <cstdint>
#include <string>
#include <string_view>

namespace rekindle::market::reading {

/// "2024-03-15" for days since 1970. For years outside 1900 to 2199, a text that the row parser rejects.
void append_date(std::int64_t days, std::string& text);
/// "09:31:00", with as many decimals as `fraction` / `per_second` needs.
void append_clock(std::int64_t seconds, std::int64_t fraction, std::int64_t per_second, std::string& text);
/// "2024-03-15 09:31:00" for a count of 1/per_second seconds since 1970, with as many decimals as it needs.
void append_time(std::int64_t count, std::int64_t per_second, std::string& text);
/// The shortest decimal number that gives the same float; "nan" or "inf" where there is none.
void append_real(float value, std::string& text);
void append_real(double value, std::string& text);
/// value · 10^-scale, without trailing zeros. Precondition: 0 <= scale <= 18.
void append_fixed(std::int64_t value, int scale, std::string& text);
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;
/// value · 10^-scale with all of its decimals. Precondition: 0 <= scale.
void append_decimal(Wide value, int scale, std::string& text);
/// A text, in quotes if it contains commas or quotes; control characters become question marks.
void append_quoted(std::string_view value, std::string& text);

} // namespace rekindle::market::reading
