#include "metrics_json.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>
#include <rekindle/trainer/run_folder.h>
#include <rekindle/trainer/settings.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace rekindle::trainer {

namespace fs = std::filesystem;

namespace {

/// The newest run folder in `folder`, or an empty path.
fs::path newest_run(const fs::path& folder, RunKind kind) {
    fs::path newest;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code))
        if (entry.path().filename().string().starts_with(kind.prefix) &&
            fs::exists(entry.path() / kind.config_name, code))
            newest = std::max(newest, entry.path());
    return newest;
}

constexpr std::string_view hidden_suffix = ".partial";

/// Holds the lock of a folder, or nothing when another process has it or the folder is gone.
FileDescriptor lock_folder(const fs::path& folder) {
    FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat opened {
    }, named{};
    if (!descriptor || ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(descriptor.get(), &opened) != 0 || ::stat(folder.c_str(), &named) != 0 ||
        opened.st_ino != named.st_ino)
        return {};
    return descriptor;
}

/// Removes folders that killed processes had prepared: nobody holds their lock.
void remove_abandoned(const fs::path& output, RunKind kind) {
    std::error_code ignored; // what cannot be removed is hidden and harmless
    for (const auto& entry : fs::directory_iterator(output, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(fmt::format(".{}", kind.prefix)) || !name.ends_with(hidden_suffix))
            continue;
        if (const FileDescriptor lock = lock_folder(entry.path()))
            fs::remove_all(entry.path(), ignored);
    }
}

/// Creates a folder that no other process uses.
fs::path new_hidden_folder(const fs::path& output, RunKind kind, const std::string& timestamp) {
    for (int number = 1;; ++number) {
        fs::path hidden =
            output / fmt::format(".{}{}_{}_{}{}", kind.prefix, timestamp, ::getpid(), number, hidden_suffix);
        if (::mkdir(hidden.c_str(), 0777) == 0)
            return hidden;
        if (errno != EEXIST)
            throw Error(fmt::format("cannot create the folder: {}", std::generic_category().message(errno)))
                .at(hidden.string())
                .hint("Choose a folder that you can write to.");
    }
}

} // namespace

std::string timestamp_now() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return fmt::format("{:04}{:02}{:02}_{:02}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1,
                       local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

RunFolder::RunFolder(fs::path path, std::string timestamp, bool published, RunKind kind)
    : path_(std::move(path)), timestamp_(std::move(timestamp)), published_(published), kind_(kind) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), made_(std::move(other.made_)), timestamp_(std::move(other.timestamp_)),
      published_(std::exchange(other.published_, true)), kind_(other.kind_), lock_(std::move(other.lock_)) {}

RunFolder::~RunFolder() {
    if (published_)
        return;
    std::error_code ignored; // what cannot be removed is hidden and harmless
    fs::remove_all(path_, ignored);
    for (const fs::path& folder : made_)
        if (!fs::remove(folder, ignored))
            return;
}

RunFolder RunFolder::prepare(const fs::path& output, RunKind kind) {
    std::vector<fs::path> made;
    for (fs::path folder = fs::absolute(output); !fs::exists(folder) && folder.has_relative_path();
         folder = folder.parent_path())
        made.push_back(folder);
    ensure_directory(output);
    remove_abandoned(output, kind);
    const std::string timestamp = timestamp_now();
    for (;;) {
        RunFolder run(new_hidden_folder(output, kind, timestamp), timestamp, false, kind);
        run.made_ = made;
        if (run.try_lock())
            return run;
        // Another process considered it abandoned in the moment before it was locked.
        run.published_ = true;
    }
}

RunFolder RunFolder::open(const fs::path& folder, RunKind kind) {
    std::error_code code;
    if (fs::exists(folder / kind.config_name, code)) {
        std::string name = fs::canonical(folder).filename().string();
        if (name.starts_with(kind.prefix))
            name = name.substr(kind.prefix.size());
        return {folder, std::move(name), true, kind};
    }
    Error error = usage_error(fmt::format("this is not a {}", kind.noun)).at(folder.string());
    error.expected(fmt::format("a folder that holds {}", kind.config_name));
    if (const fs::path newest = newest_run(folder, kind); !newest.empty())
        error.hint(fmt::format("The newest run in it is {}", newest.string()));
    throw error;
}

void RunFolder::publish() {
    const fs::path output = path_.parent_path();
    fs::path place = output / fmt::format("{}{}", kind_.prefix, timestamp_);
    for (int number = 2; ::rename(path_.c_str(), place.c_str()) != 0; ++number) {
        if (errno != EEXIST &&
            errno != ENOTEMPTY) // the name is taken: another run started in the same second
            throw Error(fmt::format("cannot make the run folder: {}", std::generic_category().message(errno)))
                .at(place.string());
        place = output / fmt::format("{}{}_{}", kind_.prefix, timestamp_, number);
    }
    path_ = place;
    published_ = true;
}

bool RunFolder::try_lock() {
    lock_ = lock_folder(path_);
    return static_cast<bool>(lock_);
}

void RunFolder::lock() {
    if (!lock_ && !try_lock())
        throw usage_error("another process is training in this folder")
            .at(path_.string())
            .hint("Wait for it, or stop it with Ctrl-C: it then saves a checkpoint.");
}

void RunFolder::write_config(const TrainConfig& config) const {
    nlohmann::ordered_json json;
    to_json(json, config);
    write_file_atomically(config_path(), json.dump(2) + "\n");
}

TrainConfig RunFolder::read_config() const {
    TrainConfig config;
    try {
        update_from_json(nlohmann::ordered_json::parse(read_file(config_path())), config);
    } catch (const nlohmann::json::exception& error) {
        throw usage_error(fmt::format("this is not JSON: {}", error.what())).at((config_path()).string());
    } catch (Error& error) {
        throw error.at(fmt::format("{}: {}", (config_path()).string(), error.where()));
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
