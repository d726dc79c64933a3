#pragma once
/// Bars that were read, with their sessions.

#include "settings.h"
#include "table.h"

#include <rekindle/market/read_bars.h>
#include <rekindle/trainer/market_data.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace rekindle::python {

/// The bars of one instrument and how they were read.
struct InstrumentBars {
    market::ReadOptions options; ///< with the tables
    trainer::MarketData data;
};

/// Bars of one instrument, or with the setting several_instruments of several. Immutable, thread-safe.
class Bars {
  public:
    using Tables = std::map<std::filesystem::path, market::ArrowTable>;
    /// `instruments` has at least one element.
    Bars(Settings settings, Tables tables, std::vector<std::shared_ptr<const InstrumentBars>> instruments)
        : settings_(std::move(settings)), tables_(std::move(tables)), instruments_(std::move(instruments)) {}

    const Settings& settings() const noexcept { return settings_; }
    bool several() const noexcept {
        return settings_.config.several_instruments != trainer::SeveralInstruments::no;
    }
    /// For bars of one instrument. Throws Error (usage) if there are several.
    const trainer::MarketData& data() const;
    const std::vector<std::shared_ptr<const InstrumentBars>>& instruments() const noexcept {
        return instruments_;
    }
    /// The name of the instrument in the bars of several that these bars were taken from; otherwise "".
    const std::string& taken() const noexcept { return taken_; }
    /// The bars of one of several instruments. Throws Error (usage) if there is none of this name.
    std::shared_ptr<Bars> of(const std::string& instrument) const;
    /// Returns these bars if the requested settings would read the same; otherwise reads their files or
    /// tables again. Refers to this object.
    trainer::BarReader reader() const;

  private:
    Settings settings_;
    Tables tables_;
    std::vector<std::shared_ptr<const InstrumentBars>> instruments_;
    std::string taken_;
};

void bind_bars(nanobind::module_& module);

} // namespace rekindle::python
