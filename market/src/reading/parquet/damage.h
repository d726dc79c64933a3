#pragma once
/// What can be wrong with a Parquet file. parquet_rows.cpp turns both into an Error that names the file.

#include <string>

namespace rekindle::market::parquet {

/// The bytes contradict the format.
struct Damage {
    std::string what;
};

/// The file is valid but uses a part of the format that Rekindle does not read.
struct Unsupported {
    std::string what;
};

} // namespace rekindle::market::parquet
