#include "device_record.h"

#include <rekindle/foundation/file.h>
#include <rekindle/market/clock.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace rekindle::trainer {

void record_device(const std::filesystem::path& run_folder, const PreparedPopulation& prepared,
                   LogSink& log) {
    using Json = nlohmann::ordered_json;
    const auto path = run_folder / "device.json";
    const DeviceUse& use = prepared.use;
    Json sessions = Json::array();
    if (std::filesystem::exists(path)) {
        const Json read = Json::parse(read_file(path), nullptr, false);
        if (read.is_array())
            sessions = read;
    }
    if (!sessions.empty()) {
        const std::string before = sessions.back().value("device", use.device);
        if (before != use.device)
            log.info(fmt::format("the run was trained on {} before and continues on {}: its weights match "
                                 "those of an uninterrupted run to rounding, not bit for bit",
                                 before, use.device));
    }
    sessions.push_back(
        {{"time", market::format_civil(static_cast<std::int64_t>(std::time(nullptr))) + " UTC"},
         {"device", use.device},
         {"driver", use.driver},
         {"why", use.why},
         {"networks", prepared.population->size()}});
    write_file_atomically(path, sessions.dump(2) + "\n");
}

} // namespace rekindle::trainer
