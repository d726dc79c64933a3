#pragma once
/// What can be wrong with a Parquet file. parquet_source.cpp turns both into an Error that names the file.

#include <string>

namespace rekindle::market::parquet {

/// The bytes contradict the format.
struct Damage {
    std::string what;
};

/// The bytes are valid, but use a part of the format that is not read.
struct Unsupported {
    std::string what;
};

} // namespace rekindle::market::parquet
