#pragma once
/// An opened device for the runtime tests, in the default test mode: guard pages and random order where the
/// device allows them, the validation layer where it is installed, and every warning or error in the log is a
/// failure. A machine without a Vulkan device fails these tests; lavapipe provides one on every machine.

#include <rekindle/runtime/device.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::runtime::test {

/// Sets environment variables for its lifetime; previous values are restored.
class Environment {
  public:
    Environment() = default;
    ~Environment() {
        for (const auto& [name, value] : before_)
            put(name, value);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    void set(const std::string& name, const std::string& value) {
        keep(name);
        put(name, value);
    }
    void unset(const std::string& name) {
        keep(name);
        put(name, std::nullopt);
    }
    /// Unless the variable is already set from outside.
    void set_by_default(const std::string& name, const std::string& value) {
        if (std::getenv(name.c_str()) == nullptr)
            set(name, value);
    }

  private:
    void keep(const std::string& name) {
        const char* value = std::getenv(name.c_str());
        before_.try_emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
    }
    static void put(const std::string& name, const std::optional<std::string>& value) {
        if (value)
            ::setenv(name.c_str(), value->c_str(), 1);
        else
            ::unsetenv(name.c_str());
    }
    std::map<std::string, std::optional<std::string>> before_;
};

/// Collects what a device logged. Thread-safe.
class Log {
  public:
    LogCallback callback() {
        return [this](LogLevel level, std::string_view text) {
            const std::lock_guard lock(mutex_);
            lines_.emplace_back(level, text);
        };
    }
    std::vector<std::string> lines(LogLevel from) const {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> texts;
        for (const auto& [level, text] : lines_)
            if (level >= from)
                texts.push_back(text);
        return texts;
    }
    void clear() {
        const std::lock_guard lock(mutex_);
        lines_.clear();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<LogLevel, std::string>> lines_;
};

class DeviceTest : public testing::Test {
  protected:
    DeviceTest() {
        // Only a driver that runs on the CPU can access memory with guard pages.
        environment.set_by_default("REKINDLE_GUARD_PAGES", runs_on_cpu() ? "1" : "0");
        environment.set_by_default("REKINDLE_RANDOM_ORDER", "1");
        environment.set_by_default("REKINDLE_VALIDATION", "1");
    }

    static bool runs_on_cpu() {
        static const bool on_cpu = first_device().type == DeviceType::cpu;
        return on_cpu;
    }

    /// The device that the tests run on: the first accepted one.
    static DeviceInfo first_device() {
        std::string reason;
        const std::vector<DeviceInfo> devices = list_devices(&reason);
        for (const DeviceInfo& device : devices)
            if (device.unusable.empty())
                return device;
        throw Error("no Vulkan device can be used, and the tests need one (lavapipe is enough): " + reason);
    }

    std::shared_ptr<Device> open(DeviceOptions options = {}) {
        if (!options.log)
            options.log = log.callback();
        if (options.cache_folder.empty())
            options.cache_folder = cache;
        return Device::open(first_device(), std::move(options));
    }

    /// Tests that provoke a warning check `log` and clear it.
    void TearDown() override { EXPECT_THAT(log.lines(LogLevel::warning), testing::IsEmpty()); }

    Environment environment;
    Log log;
    std::string cache =
        testing::TempDir() + "rekindle-runtime-cache"; ///< folder of pipelines and self-test results
};

} // namespace rekindle::runtime::test
