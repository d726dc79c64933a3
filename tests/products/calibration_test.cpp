#include "../runtime/fixture.h"
#include "devices.h"
#include "temporary_folder.h"

#include <rekindle/products/calibration.h>
#include <rekindle/products/tuner.h>

#include <filesystem>

namespace rekindle::products {
namespace {

class CalibratedDevice : public runtime::test::DeviceTest {
  protected:
    CalibratedDevice() {
        environment.set("REKINDLE_CACHE_DIR", folder.path().string());
        environment.unset("REKINDLE_CALIBRATE");
    }
    DeviceParameters usual() const { return default_parameters(device->info(), device->usable_features()); }
    bool is_cpu() const { return device->info().type == runtime::DeviceType::cpu; }

    rekindle::test::TemporaryFolder folder;
    std::shared_ptr<runtime::Device> device = open();
};

TEST_F(CalibratedDevice, StoredRatesAreUsedUnlessCalibrationIsOff) {
    DeviceParameters stored = usual();
    stored.float32_rate = 1.25e11;
    stored.launch_seconds = 3e-6;
    runtime::TuningStore(device->info(), folder.path()).keep("calibration 4", rates_text(stored));
    environment.set("REKINDLE_CALIBRATE", "1");
    const DeviceParameters found = calibrated_parameters(*device, log.callback());
    EXPECT_DOUBLE_EQ(found.float32_rate, 1.25e11);
    EXPECT_DOUBLE_EQ(found.launch_seconds, 3e-6);
    environment.set("REKINDLE_CALIBRATE", "0");
    EXPECT_EQ(calibrated_parameters(*device, log.callback()), usual());
}

TEST_F(CalibratedDevice, ADamagedFileAndOneThatCannotBeWrittenAreReported) {
    runtime::TuningStore(device->info(), folder.path()).keep("calibration 4", rates_text(usual()));
    for (const auto& file : std::filesystem::directory_iterator(folder.path() / "tuning"))
        if (file.path().extension() ==
            ".lock") { // replaced by a folder, so that no rates are measured: too slow on a CPU driver
            std::filesystem::remove(file.path());
            std::filesystem::create_directory(file.path());
        } else {
            std::filesystem::resize_file(file.path(), file.file_size() / 2);
        }
    environment.set("REKINDLE_CALIBRATE", "1");
    EXPECT_EQ(calibrated_parameters(*device, log.callback()), usual());
    EXPECT_THAT(log.lines(LogLevel::warning),
                testing::ElementsAre(testing::HasSubstr("is damaged: its size is wrong; measuring again"),
                                     testing::HasSubstr("cannot write")));
    log.clear();
}

TEST_F(CalibratedDevice, ACpuDriverIsNotMeasuredUnlessAsked) {
    if (!is_cpu())
        GTEST_SKIP() << "the device is a GPU";
    EXPECT_EQ(calibrated_parameters(*device, log.callback()), usual());
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "tuning"));
}

TEST_F(CalibratedDevice, ReportsItsParameters) {
    environment.set("REKINDLE_CALIBRATE", "0");
    calibrated_parameters(*device, log.callback());
    EXPECT_THAT(log.lines(LogLevel::info), testing::Contains(testing::HasSubstr("compute_units=")));
}

TEST_F(CalibratedDevice, TheTunerMeasuresOnceAndRemembers) {
    const auto stream = device->make_stream();
    const runtime::Buffer buffer =
        device->allocator().allocate(1 << 20, runtime::MemoryKind::device, stream.get());
    int made = 0, ran = 0;
    const auto choose = [&] {
        Tuner tuner(device->info(), log.callback());
        const auto candidates = [&] {
            ++made;
            const auto fill = [&](std::uint64_t bytes) {
                return [&, bytes] {
                    ++ran;
                    stream->fill(buffer.pointer(), bytes, 1);
                };
            };
            return std::vector<runtime::Candidate>{{"slow", fill(1 << 20), [] { return true; }},
                                                   {"wrong", fill(4), [] { return false; }},
                                                   {"fast", fill(4), [] { return true; }}};
        };
        const std::size_t first = tuner.choose(*stream, "a fill", {"slow", "wrong", "fast"}, candidates);
        EXPECT_EQ(tuner.choose(*stream, "a fill", {"slow", "wrong", "fast"}, candidates), first);
        return first;
    };
    const std::size_t first = choose();
    EXPECT_NE(first, 1u);
    EXPECT_EQ(made, 1);
    EXPECT_GT(ran, 3);
    EXPECT_THAT(log.lines(LogLevel::warning), testing::Contains(testing::HasSubstr("wrong")));
    log.clear();
    EXPECT_EQ(choose(), first); // another tuner, as in another process
    EXPECT_EQ(made, 1);
}

TEST_F(CalibratedDevice, TheTunerKeepsTheDefaultWhereNothingCanBeMeasured) {
    const auto stream = device->make_stream();
    Tuner tuner(device->info(), log.callback());
    EXPECT_EQ(
        tuner.choose(*stream, "a key", {"one", "two"}, [] { return std::vector<runtime::Candidate>(); }), 0u);
}

} // namespace
} // namespace rekindle::products
