#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/verify.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace rekindle::trainer {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view head =
    R"(<!-- Made by `rekindle generate-docs docs --only committed` from docs/hardware/*.json and docs/isa.md. -->

# Hardware

The results of `rekindle verify` on each device, and the GPU families for which the kernels have only been compiled. A
report from your own GPU is welcome: `rekindle verify --report card.json` writes one without user or host names; it goes
into [docs/hardware/](hardware/).

)";

constexpr std::string_view nobody = "Nothing has run on a GPU yet.\n";

constexpr std::string_view compiled_head = R"(
## Compiled, not run

Mesa's compiler for AMD GPUs compiled every kernel for these families, and the machine code was checked
([isa.md](isa.md)): no spilled registers, no scratch memory. None of it has run on such a GPU.

| family | cards |
|---|---|
)";

constexpr std::string_view untested = R"(
## Untested

Intel GPUs and all other devices whose Vulkan driver meets Rekindle's requirements (`rekindle devices` shows whether it
does): the kernels are the same but have not run there. Every change is tested on a CPU driver (lavapipe), which
tolerates errors that hardware does not.
)";

Json parsed(const HardwareReport& report) {
    Json json = Json::parse(report.text, nullptr, false);
    if (json.is_discarded() || json.value("report", "") != "rekindle verify" ||
        json.value("version", 0) != 1 || !json.contains("devices"))
        throw Error("this is not a report of rekindle verify, version 1").at(report.file);
    return json;
}

/// "2.1 M", "31.9 k", "812".
std::string scaled(double value) {
    if (value >= 1e6)
        return fmt::format("{:.1f} M", value / 1e6);
    return value >= 1e4 ? fmt::format("{:.1f} k", value / 1e3) : fmt::format("{:.0f}", value);
}

struct Counts {
    std::size_t passed = 0, failed = 0, not_run = 0;
};

Counts counts(const Json& rows) {
    Counts counts;
    for (const Json& row : rows) {
        counts.passed += row.at("outcome") == "passed";
        counts.failed += row.at("outcome") == "failed";
        counts.not_run += row.at("outcome") == "not run";
    }
    return counts;
}

/// The largest error of the rows of a part, relative to its bound: "0.07 of 1e-05".
std::string worst(const Json& rows, std::string_view name_ends) {
    double value = -1, bound = 0;
    for (const Json& row : rows)
        if (row.contains("bound") && row.at("name").get<std::string>().ends_with(name_ends) &&
            row.at("value").is_number() && row.at("value").get<double>() > value) {
            value = row.at("value").get<double>();
            bound = row.at("bound").get<double>();
        }
    return value < 0 ? "–" : fmt::format("{:.1e} (≤ {:g})", value, bound);
}

void add_device(std::string& page, const Json& device, const std::string& file) {
    const Json& rows = device.at("rows");
    const Counts found = counts(rows);
    page += fmt::format(
        "### {}\n\n{}, driver {} {}, Vulkan {}. {}: {} passed, {} failed, {} not run. [{}](hardware/{})\n\n",
        device.at("name").get<std::string>(), device.at("type").get<std::string>(),
        device.at("driver").get<std::string>(), device.at("driver_info").get<std::string>(),
        device.at("vulkan").get<std::string>(), device.at("passed") == true ? "**Passed**" : "**Failed**",
        counted(found.passed, "row"), found.failed, found.not_run, file, file);
    page += fmt::format("* gradients compared with the CPU, 20 steps of three networks: {}\n",
                        worst(rows, "gradients of 20 steps"));
    for (const Json& row : rows) {
        const std::string name = row.at("name");
        if (row.at("outcome") == "failed")
            page += fmt::format("* failed: {} {}\n", name, row.value("detail", ""));
        else if (row.at("outcome") == "measured" && row.at("value").is_number())
            page += fmt::format("* {}: {} {}\n", name, scaled(row.at("value").get<double>()),
                                row.value("unit", ""));
    }
    page += '\n';
}

/// Copies the columns "family" and "cards" of the first table of docs/isa.md. The table may have several rows
/// for the same cards, one for each version of the compiler; only the first of them is copied.
std::string audited_families(std::string_view audited) {
    std::string rows;
    std::set<std::string_view> listed;
    bool inside = false;
    for (const std::string_view line : split(audited, '\n')) {
        const std::vector<std::string_view> cells = split(line, '|');
        if (cells.size() < 4) {
            if (inside && !rows.empty())
                break;
            continue;
        }
        const std::string_view family = trim(cells[1]), cards = trim(cells[2]);
        if (family == "family")
            inside = true;
        else if (inside && !family.starts_with("-") && listed.insert(cards).second)
            rows += fmt::format("| {} | {} |\n", family, cards);
    }
    if (rows.empty())
        throw Error("there is no table of families").at("isa.md").hint("./scripts/isa-audit generates it.");
    return rows;
}

} // namespace

std::string hardware_page(std::span<const HardwareReport> reports, std::string_view audited) {
    std::string gpus, cpu_drivers;
    bool amd = false, intel = false;
    for (const HardwareReport& report : reports) {
        const Json json = parsed(report);
        for (const Json& device : json.at("devices")) {
            const bool is_cpu = device.at("type") == "cpu";
            amd = amd || (!is_cpu && device.at("vendor_id") == "0x1002");
            intel = intel || (!is_cpu && device.at("vendor_id") == "0x8086");
            add_device(is_cpu ? cpu_drivers : gpus, device, report.file);
        }
    }
    std::string page(head);
    if (!amd && !intel)
        page += "Nothing has run on an AMD or Intel GPU yet.\n\n";
    else if (!amd || !intel)
        page += fmt::format("Nothing has run on an {} GPU yet.\n\n", amd ? "Intel" : "AMD");
    page += "## Tested\n\n";
    page += gpus.empty() ? std::string(nobody) + "\n" : gpus;
    if (!cpu_drivers.empty())
        page += "## CPU drivers\n\n" + cpu_drivers;
    while (page.ends_with("\n\n"))
        page.pop_back();
    page += compiled_head;
    page += audited_families(audited);
    page += untested;
    return page;
}

std::string hardware_page_of(const std::filesystem::path& docs) {
    std::vector<HardwareReport> reports;
    for (const auto& entry : std::filesystem::directory_iterator(docs / "hardware"))
        if (entry.path().extension() == ".json")
            reports.push_back({entry.path().filename().string(), read_file(entry.path())});
    std::sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
    return hardware_page(reports, read_file(docs / "isa.md"));
}

} // namespace rekindle::trainer
