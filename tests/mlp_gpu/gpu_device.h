#pragma once
/// The device that the GPU tests run on.

#include <rekindle/runtime/device.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace rekindle::mlp::test {

/// The first device that the runtime accepts, opened once in the default test mode: guard pages and random
/// order where the device allows them, the validation layer where it is installed, and every warning in its
/// log is a failure. Throws runtime::Error, which fails the test, when there is no device.
inline const std::shared_ptr<runtime::Device>& gpu_device() {
    static const std::shared_ptr<runtime::Device> device = [] {
        // A CPU driver compiles at the first launch, which can take long on a busy machine.
        ::setenv("REKINDLE_WATCHDOG_SECONDS", "600", 0);
        for (const char* variable : {"REKINDLE_GUARD_PAGES", "REKINDLE_RANDOM_ORDER", "REKINDLE_VALIDATION"})
            ::setenv(variable, "1", 0);
        runtime::DeviceOptions options;
        options.cache_folder = testing::TempDir() + "rekindle-mlp-cache";
        options.log = [](rekindle::LogLevel level, std::string_view text) {
            if (level >= rekindle::LogLevel::warning)
                ADD_FAILURE() << text;
        };
        return runtime::Device::open(runtime::select_device("gpu"), std::move(options));
    }();
    return device;
}

} // namespace rekindle::mlp::test
