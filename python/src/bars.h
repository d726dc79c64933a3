#pragma once
/// Bars that were read, with their sessions.

#include "settings.h"
#include "table.h"

#include <rekindle/market/read_bars.h>
#include <rekindle/trainer/market_data.h>

#include <cstddef>
#include <memory>
#include <nanobind/nanobind.h>
#include <string>

namespace rekindle::python {

/// Immutable, thread-safe.
class Bars {
  public:
    Bars(Settings settings, market::ReadOptions options, trainer::MarketData data)
        : settings_(std::move(settings)), options_(std::move(options)), data_(std::move(data)) {}

    const Settings& settings() const noexcept { return settings_; }
    const trainer::MarketData& data() const noexcept { return data_; }
    /// Returns these bars if the requested settings would read the same; otherwise reads their files or
    /// tables again.
    trainer::BarReader reader() const;

  private:
    Settings settings_;
    market::ReadOptions options_; ///< with the tables
    trainer::MarketData data_;
};

void bind_bars(nanobind::module_& module);

} // namespace rekindle::python
