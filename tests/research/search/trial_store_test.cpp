/// The database of a search.

#include "search/trial_store.h"

#include <rekindle/foundation/error.h>
#include <rekindle/foundation/file.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <temporary_folder.h>

namespace rekindle::research {
namespace {

Trial sample(std::uint64_t number, std::int64_t rung = 0) {
    Trial trial;
    trial.number = number;
    trial.rung = rung;
    trial.epochs = 3;
    trial.settings = {{"learning_rate", 0.1 + 0.2}, {"hidden_layers", {32, 16}}};
    trial.loss_saved = -1.0 / 3;
    trial.timing_ratio = 0.125;
    trial.timing = {0.1F, -0.2F, 0};
    trial.seconds = 0.5;
    return trial;
}

TEST(TrialStore, KeepsEveryFigure) {
    const rekindle::test::TemporaryFolder folder;
    Trial diverged = sample(2);
    diverged.diverged = true;
    diverged.loss_saved = diverged.timing_ratio = std::numeric_limits<double>::quiet_NaN();
    diverged.timing.clear();
    {
        TrialStore store(folder / "search.sqlite");
        EXPECT_FALSE(store.description());
        store.set_description("{\"a\": 1}");
        const std::array trials{sample(0), sample(0, 1), diverged};
        store.add(trials);
    }
    const TrialStore store(folder / "search.sqlite");
    EXPECT_EQ(store.description(), "{\"a\": 1}");
    const auto trials = store.trials();
    ASSERT_EQ(trials.size(), 3U);
    EXPECT_EQ(trials[0].settings, sample(0).settings);
    EXPECT_EQ(trials[0].loss_saved, sample(0).loss_saved);
    EXPECT_EQ(trials[0].timing, sample(0).timing);
    EXPECT_EQ(trials[1].rung, 1);
    EXPECT_TRUE(trials[2].diverged);
    EXPECT_TRUE(std::isnan(trials[2].loss_saved));
    EXPECT_TRUE(trials[2].timing.empty());
}

/// The second trial of the group is already stored, so the first one must not be stored either.
TEST(TrialStore, AGroupIsStoredAsAWholeOrNotAtAll) {
    const rekindle::test::TemporaryFolder folder;
    TrialStore store(folder / "search.sqlite");
    const std::array first{sample(1)};
    const std::array second{sample(2), sample(1)};
    store.add(first);
    EXPECT_THROW(store.add(second), Error);
    EXPECT_EQ(store.trials().size(), 1U);
}

TEST(TrialStore, ADamagedFileIsNamed) {
    const rekindle::test::TemporaryFolder folder;
    write_file_atomically(folder / "search.sqlite", std::string(4096, 'x'));
    try {
        const TrialStore store(folder / "search.sqlite");
        FAIL() << "opened";
    } catch (const Error& error) {
        EXPECT_NE(error.render().find("search.sqlite"), std::string::npos) << error.render();
    }
}

} // namespace
} // namespace rekindle::research
