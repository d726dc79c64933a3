#include "fixture.h"
#include "temporary_folder.h"

#include <rekindle/runtime/tuning.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

namespace rekindle::runtime {

namespace {

Candidate candidate(std::string name, bool right) {
    return {std::move(name), [] {}, [right] { return right; }};
}

/// The times of candidates named by their milliseconds.
double seconds_in_name(const Candidate& one) {
    return std::stod(one.name) * 1e-3;
}

TEST(Tuning, ChoosesTheFastestThatIsRight) {
    const std::vector<Candidate> candidates{candidate("4", true), candidate("1", false), candidate("2", true),
                                            candidate("3", true)};
    const Choice choice = fastest(candidates, seconds_in_name);
    EXPECT_EQ(choice.index, 2u);
    EXPECT_EQ(choice.wrong, std::vector<std::size_t>{1});
    EXPECT_EQ(choice.seconds[1], std::numeric_limits<double>::infinity());
}

TEST(Tuning, TheDefaultStaysUnlessAnotherIsClearlyFaster) {
    EXPECT_EQ(fastest(std::vector{candidate("100", true), candidate("98", true)}, seconds_in_name).index, 0u);
    EXPECT_EQ(fastest(std::vector{candidate("100", true), candidate("96", true)}, seconds_in_name).index, 1u);
}

TEST(Tuning, AWrongDefaultIsReplaced) {
    EXPECT_EQ(fastest(std::vector{candidate("1", false), candidate("5", true)}, seconds_in_name).index, 1u);
}

TEST(Tuning, WithoutARightCandidateTheDefaultStays) {
    const Choice choice = fastest(std::vector{candidate("1", false), candidate("5", false)}, seconds_in_name);
    EXPECT_EQ(choice.index, 0u);
    EXPECT_EQ(choice.wrong.size(), 2u);
}

TEST(Tuning, WhatTheDeviceCannotRunIsLeftOut) {
    Candidate missing = candidate("1", true);
    missing.queue = [] { throw Unsupported("no such units"); };
    const Choice choice = fastest(std::vector{candidate("5", true), missing}, seconds_in_name);
    EXPECT_EQ(choice.index, 0u);
    EXPECT_TRUE(choice.wrong.empty());
}

TEST(Tuning, TheLeastOfSeveralTimesCounts) {
    int call = 0;
    const Choice choice =
        fastest(std::vector{candidate("a", true), candidate("b", true)}, [&](const Candidate& one) {
            ++call;
            return one.name == "a" ? 2.0 : (call < 4 ? 9.0 : 1.0); // b is disturbed in the first round
        });
    EXPECT_EQ(choice.index, 1u);
    EXPECT_EQ(choice.seconds[1], 1.0);
}

/// Chooses between a default that takes 2 ms and a candidate that takes 3 ms. The clocks are at a quarter of
/// their rate before measurement number `rises`, and again from measurement number `falls` on.
Choice choice_if_clocks_rise(int rises, int falls = 1 << 20) {
    int call = 0;
    return fastest(std::vector{candidate("2", true), candidate("3", true)}, [&](const Candidate& one) {
        ++call;
        return (call < rises || call >= falls ? 4 : 1) * seconds_in_name(one);
    });
}

TEST(Tuning, TimesAtDifferentClocksAreNotCompared) {
    for (int rises = 1; rises <= 12; ++rises) {
        const Choice choice = choice_if_clocks_rise(rises);
        EXPECT_EQ(choice.index, 0u) << rises;
        // Three rounds take nine measurements. If the clocks rise later, fastest() cannot notice.
        EXPECT_THAT(choice.seconds, testing::ElementsAre(rises <= 9 ? 2e-3 : 8e-3, rises <= 9 ? 3e-3 : 12e-3))
            << rises;
    }
    for (int falls = 1; falls <= 12; ++falls)
        EXPECT_EQ(choice_if_clocks_rise(0, falls).index, 0u) << falls;
}

TEST(Tuning, UnsteadyTimesEnd) {
    int call = 0;
    const Choice choice = fastest(std::vector{candidate("2", true), candidate("1", true)},
                                  [&](const Candidate& one) { return ++call * seconds_in_name(one); });
    EXPECT_LE(call, 36);
    EXPECT_TRUE(std::isfinite(choice.seconds[0]));
}

TEST(Tuning, TheDeviceWarmsUpAfterTheResultsAreChecked) {
    std::string order;
    Candidate one = candidate("1", true);
    one.is_right = [&] {
        order += "check ";
        return true;
    };
    const auto seconds = [&](const Candidate&) {
        order += "time ";
        return 1.0;
    };
    fastest(std::vector{one}, seconds, [&](const Candidate&) { order += "warm up "; });
    EXPECT_TRUE(order.starts_with("check warm up time ")) << order;
}

class TuningOnDevice : public test::DeviceTest {
  protected:
    std::shared_ptr<Device> device = open();
};

TEST_F(TuningOnDevice, TimesWorkOnTheDevice) {
    const auto stream = device->make_stream();
    const Buffer memory = device->allocator().allocate(1 << 16, MemoryKind::device, stream.get());
    int calls = 0;
    const double seconds = device_seconds(*stream, [&] {
        ++calls;
        stream->fill(memory.pointer(), memory.bytes(), 7);
    });
    EXPECT_GT(seconds, 0);
    EXPECT_GT(calls, 1);
}

TEST_F(TuningOnDevice, ChoicesAreStoredForTheDevice) {
    const rekindle::test::TemporaryFolder folder;
    {
        TuningStore store(device->info(), folder.path());
        EXPECT_FALSE(store.find("product 64 64 64"));
        store.keep("product 64 64 64", "tile 32");
        store.keep("product 64 64 64", "tile 64");
        store.keep("other", "tile 128");
        EXPECT_EQ(store.problem(), "");
    }
    const TuningStore store(device->info(), folder.path());
    EXPECT_EQ(store.find("product 64 64 64"), "tile 64");
    EXPECT_EQ(store.find("other"), "tile 128");
    DeviceInfo other = device->info();
    other.driver_version += 1;
    EXPECT_FALSE(TuningStore(other, folder.path()).find("other"));
}

TEST_F(TuningOnDevice, ProcessesAddToOneFile) {
    const rekindle::test::TemporaryFolder folder;
    TuningStore first(device->info(), folder.path()), second(device->info(), folder.path());
    first.keep("of the first", "1");
    second.keep("of the second", "2");
    first.keep("of both", "older");
    second.keep("of both", "newer");
    first.keep("last", "3");
    const TuningStore store(device->info(), folder.path());
    EXPECT_EQ(store.find("of the first"), "1");
    EXPECT_EQ(store.find("of the second"), "2");
    EXPECT_EQ(store.find("of both"), "newer");
    EXPECT_EQ(store.find("last"), "3");
}

TEST_F(TuningOnDevice, OneOfSeveralProcessesMeasures) {
    const rekindle::test::TemporaryFolder folder;
    std::atomic<int> made = 0;
    std::array<std::string, 4> found;
    {
        std::vector<std::jthread> threads;
        for (std::string& one : found)
            threads.emplace_back([&] {
                TuningStore store(device->info(), folder.path());
                one = store.find_or_make("rates", [&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(50));
                    return std::to_string(++made);
                });
            });
    }
    EXPECT_EQ(made, 1);
    EXPECT_THAT(found, testing::Each("1"));
}

TEST_F(TuningOnDevice, NothingIsStoredWhenMeasuringFails) {
    const rekindle::test::TemporaryFolder folder;
    TuningStore store(device->info(), folder.path());
    EXPECT_THROW(store.find_or_make("rates", []() -> std::string { throw Unsupported("no such units"); }),
                 Unsupported);
    EXPECT_EQ(store.find_or_make("rates", [] { return std::string("later"); }), "later");
    EXPECT_EQ(TuningStore(device->info(), {}).find_or_make("rates", [] { return std::string("unstored"); }),
              "unstored");
}

TEST_F(TuningOnDevice, ADamagedFileIsReportedAndReplaced) {
    const rekindle::test::TemporaryFolder folder;
    TuningStore(device->info(), folder.path()).keep("key", "name");
    for (const auto& file : std::filesystem::directory_iterator(folder.path() / "tuning"))
        if (file.path().extension() == ".bin")
            std::ofstream(file.path(), std::ios::app) << "x";
    TuningStore store(device->info(), folder.path());
    EXPECT_NE(store.problem().find("is damaged"), std::string::npos) << store.problem();
    EXPECT_FALSE(store.find("key"));
    store.keep("key", "again");
    EXPECT_EQ(TuningStore(device->info(), folder.path()).find("key"), "again");
}

TEST_F(TuningOnDevice, AFolderThatCannotBeWrittenIsReported) {
    const rekindle::test::TemporaryFolder folder;
    std::ofstream(folder.path() / "tuning") << "a file";
    TuningStore store(device->info(), folder.path());
    store.keep("key", "name");
    EXPECT_NE(store.problem(), "");
    EXPECT_EQ(store.find("key"), "name");
    EXPECT_THROW(store.find_or_make("rates", [] { return std::string("rates"); }), Error);
}

} // namespace

} // namespace rekindle::runtime
