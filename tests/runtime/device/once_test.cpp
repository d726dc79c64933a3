#include "device/once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace rekindle::runtime {
namespace {

TEST(Once, RetriesAfterAnExceptionButNotAfterSuccess) {
    Once once;
    int calls = 0;
    EXPECT_THROW(once([&] {
                     ++calls;
                     throw std::runtime_error("not yet");
                 }),
                 std::runtime_error);
    for (int i = 0; i < 3; ++i)
        once([&] { ++calls; });
    EXPECT_EQ(calls, 2);
}

TEST(Once, OthersWaitForTheFirst) {
    Once once;
    std::atomic<int> calls{0}, done{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                once([&] {
                    ++calls;
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    done = 1;
                });
                EXPECT_EQ(done, 1);
            });
    }
    EXPECT_EQ(calls, 1);
}

} // namespace
} // namespace rekindle::runtime
