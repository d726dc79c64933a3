#include "metrics_json.h"

#include <rekindle/base/error.h>
#include <rekindle/base/file.h>
#include <rekindle/trainer/run_folder.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/file.h>
#include <system_error>
#include <utility>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

constexpr const char* config_name = "config.json";

/// The newest folder below that holds a run, or an empty path.
fs::path newest_run(const fs::path& folder) {
    fs::path newest;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code))
        if (entry.path().filename().string().starts_with("train_") &&
            fs::exists(entry.path() / config_name, code))
            newest = std::max(newest, entry.path());
    return newest;
}

} // namespace

std::string timestamp_now() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return fmt::format("{:04}{:02}{:02}_{:02}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1,
                       local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

RunFolder::RunFolder(fs::path path, fs::path place, std::string timestamp, bool published)
    : path_(std::move(path)), place_(std::move(place)), timestamp_(std::move(timestamp)),
      published_(published) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), place_(std::move(other.place_)), made_(std::move(other.made_)),
      timestamp_(std::move(other.timestamp_)), published_(std::exchange(other.published_, true)),
      lock_(std::move(other.lock_)) {}

RunFolder::~RunFolder() {
    if (published_)
        return;
    std::error_code ignored; // what cannot be removed is hidden and harmless
    fs::remove_all(path_, ignored);
    for (const fs::path& folder : made_)
        if (!fs::remove(folder, ignored))
            return;
}

RunFolder RunFolder::prepare(const fs::path& output) {
    std::vector<fs::path> made;
    for (fs::path folder = fs::absolute(output); !fs::exists(folder) && folder.has_relative_path();
         folder = folder.parent_path())
        made.push_back(folder);
    ensure_directory(output);
    const std::string timestamp = timestamp_now();
    fs::path place = output / ("train_" + timestamp);
    for (int number = 2; fs::exists(place); ++number)
        place = output / fmt::format("train_{}_{}", timestamp, number);
    fs::path hidden = output / ("." + place.filename().string() + ".partial");
    std::error_code code;
    fs::remove_all(hidden, code);
    ensure_directory(hidden);
    RunFolder run(std::move(hidden), std::move(place), timestamp, false);
    run.made_ = std::move(made);
    return run;
}

RunFolder RunFolder::open(const fs::path& folder) {
    std::error_code code;
    if (fs::exists(folder / config_name, code)) {
        std::string name = fs::canonical(folder).filename().string();
        if (name.starts_with("train_"))
            name = name.substr(6);
        return {folder, folder, std::move(name), true};
    }
    Error error = usage_error("this is not the folder of a run").at(folder.string());
    error.expected(fmt::format("a folder that holds {}", config_name));
    if (const fs::path newest = newest_run(folder); !newest.empty())
        error.hint(fmt::format("The newest run below it is {}", newest.string()));
    throw error;
}

void RunFolder::publish() {
    std::error_code code;
    fs::rename(path_, place_, code);
    if (code)
        throw Error(fmt::format("cannot make the run folder: {}", code.message())).at(place_.string());
    path_ = place_;
    published_ = true;
}

void RunFolder::lock() {
    lock_ = FileDescriptor::open_for_reading(path_);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw usage_error("another process is training in this folder")
            .at(path_.string())
            .hint("Wait for it, or stop it with Ctrl-C: it then saves its state.");
}

void RunFolder::write_config(const TrainConfig& config) const {
    nlohmann::ordered_json json;
    to_json(json, config);
    write_file_atomically(path_ / config_name, json.dump(2) + "\n");
}

TrainConfig RunFolder::read_config() const {
    TrainConfig config;
    try {
        update_from_json(nlohmann::ordered_json::parse(read_file(path_ / config_name)), config);
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not JSON: {}", error.what()))
            .at((path_ / config_name).string());
    }
    return config;
}

void RunFolder::write_metrics(std::span<const EpochMetrics> history) const {
    std::string lines;
    for (const EpochMetrics& metrics : history)
        lines += metrics_to_json(metrics).dump() + "\n";
    write_file_atomically(path_ / "metrics.jsonl", lines);
}

} // namespace rekindle::trainer
