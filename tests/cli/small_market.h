#pragma once
/// A small history of bars that covers every option: two contracts, a roll, ties, VIX files.

#include "process.h"

#include <cstdint>
#include <string>

namespace rekindle::cli {

/// Files that live as long as the object.
class SmallMarket {
    TemporaryFolder folder_; // first, because the files below are in it

  public:
    SmallMarket();

    const std::string bars;       ///< three-hourly bars of 350 weekdays from 2023-06-05, timestamps in UTC
    const std::string other_bars; ///< the same days, other prices
    const std::string short_bars; ///< the last 300 days of `bars`
    const std::string malformed_bars; ///< `bars` with one malformed row
    const std::string vix;            ///< daily closes
    const std::string other_vix;
    const std::string unnamed_bars; ///< daily bars without a contract
    const std::string later_bars;   ///< the days that follow them, in a file of another name
    const std::string coins;        ///< daily bars for all days of the week
    const std::string instruments;  ///< a list in which CL has other regular hours
    const std::string calendar;     ///< two holidays more than in the embedded one
    const std::string config;       ///< {"seed": 7}
    const std::string network;      ///< a model description that is not the default one
};

/// The files that tests share; they only read them.
const SmallMarket& shared_market();

/// Bars of `days` weekdays, as merged CSV.
std::string make_bars(std::uint64_t seed, int first_day, int days);

} // namespace rekindle::cli
