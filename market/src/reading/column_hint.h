#pragma once
/// Guesses the --columns setting for a file from its first rows.

#include "reading/format.h"

#include <string>

namespace rekindle::market::reading {

/// "--columns date=1,clock=2,open=3,high=4,low=5,close=6,volume=7" for rows such as "2024.01.02,00:00,1.1,…".
/// `found` are columns that the header names; the others are guessed: the time from its notation, the prices
/// as four numbers in a row of which the second is the highest and the third the lowest, and the volume as
/// the next number, or none. A key whose column cannot be guessed is followed by POSITION.
std::string suggest_columns(const FileHead& head, char delimiter, const ColumnMap& found);

} // namespace rekindle::market::reading
