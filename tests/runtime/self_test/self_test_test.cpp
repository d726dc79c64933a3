#include "fixture.h"
#include "pipeline/cache_folder.h"
#include "self_test/known_answer.h"
#include "self_test/self_test.h"
#include "temporary_folder.h"

#include <rekindle/kernels/launchers.h>
#include <rekindle/runtime/self_test.h>

#include <algorithm>
#include <filesystem>

namespace rekindle::runtime::test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;
using Outcome = SelfTestRow::Outcome;

class SelfTestTest : public DeviceTest {
  protected:
    SelfTestTest() { cache = folder_ / "cache"; }

    /// The N of REKINDLE_FAULT=wrong-answer:N for a row; only rows that this device can run are counted.
    static std::string number_of(const std::string& name) {
        std::size_t number = 0;
        const Capabilities can = first_device().can;
        for (const KnownAnswer& answer : known_answers(can)) {
            number += can.features.contains(answer.kernel->needs) ? 1 : 0;
            if (answer.name == name)
                return std::to_string(number);
        }
        throw Error("there is no row " + name);
    }
    std::filesystem::path file() const {
        return std::filesystem::path(cache) / "self-test" / file_name_of(first_device());
    }

  private:
    const rekindle::test::TemporaryFolder folder_;
};

TEST_F(SelfTestTest, ACorrectDevicePasses) {
    const std::shared_ptr<Device> device = open();
    const SelfTestResult& result = device->self_test();
    EXPECT_GE(result.rows.size(), 20u);
    EXPECT_TRUE(result.usable());
    EXPECT_TRUE(result.disabled().empty());
    EXPECT_EQ(device->usable_features(), device->info().can.features);
    for (const SelfTestRow& row : result.rows) {
        EXPECT_NE(row.outcome, Outcome::failed) << row.name << ": " << row.detail;
        if (row.outcome == Outcome::unsupported) {
            EXPECT_THAT(row.detail, HasSubstr("the device has no ")) << row.name;
        }
    }
    EXPECT_GE(std::ranges::count(result.rows, Outcome::passed, &SelfTestRow::outcome), 14);
    EXPECT_FALSE(result.from_cache);
    EXPECT_GT(result.milliseconds, 0);
}

TEST_F(SelfTestTest, TestsEverySubgroupSize) {
    Capabilities can;
    can.minimum_subgroup = 8;
    can.maximum_subgroup = 64;
    std::vector<std::string> sizes;
    for (const KnownAnswer& answer : known_answers(can))
        if (answer.kernel == &kernels::selftest_sized_subgroups.kernel)
            sizes.push_back(answer.name);
    EXPECT_THAT(sizes, ElementsAre("subgroup operations, size 8", "subgroup operations, size 16",
                                   "subgroup operations, size 32", "subgroup operations, size 64"));
}

TEST_F(SelfTestTest, TheResultIsKeptOnlyForTheSameBuild) {
    const std::vector<SelfTestRow> first = open()->self_test().rows;
    const std::shared_ptr<Device> again = open();
    EXPECT_TRUE(again->self_test().from_cache);
    ASSERT_EQ(again->self_test().rows.size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(again->self_test().rows[i].name, first[i].name);
        EXPECT_EQ(again->self_test().rows[i].outcome, first[i].outcome);
        EXPECT_EQ(again->self_test().rows[i].detail, first[i].detail);
        EXPECT_EQ(again->self_test().rows[i].disables, first[i].disables);
    }
    const CacheFile kept(file(), "RKSELF01");
    std::vector<std::byte> payload = kept.read().value();
    payload[0] = payload[0] == std::byte{'1'} ? std::byte{'2'} : std::byte{'1'}; // a different build
    kept.write(payload);
    EXPECT_FALSE(open()->self_test().from_cache);
    EXPECT_TRUE(open()->self_test().from_cache);
    EXPECT_FALSE(run_self_test(*open()).from_cache);
}

TEST_F(SelfTestTest, ADamagedResultFileMakesTheTestRunAgain) {
    open();
    const CacheFile kept(file(), "RKSELF01");
    std::vector<std::byte> payload = kept.read().value();
    ASSERT_GT(payload.size(), 3u);
    payload.erase(payload.end() - 3, payload.end());
    payload.push_back(std::byte{'\n'});
    kept.write(payload);
    EXPECT_FALSE(open()->self_test().from_cache);
    std::filesystem::resize_file(file(), 5);
    EXPECT_FALSE(open()->self_test().from_cache);
    EXPECT_THAT(log.lines(LogLevel::warning), ElementsAre(HasSubstr("a row cannot be read; it is run again"),
                                                          HasSubstr("it has no header; it is run again")));
    log.clear();
}

TEST_F(SelfTestTest, AFeatureWithWrongAnswersIsDisabledWithAWarning) {
    environment.set("REKINDLE_FAULT", "wrong-answer:" + number_of("64-bit atomics"));
    const std::shared_ptr<Device> device = open();
    ASSERT_TRUE(device->info().can.features.contains(kernels::Feature::int64_atomics));
    EXPECT_TRUE(device->self_test().usable());
    EXPECT_EQ(device->usable_features(),
              device->info().can.features.without(kernels::Feature::int64_atomics));
    EXPECT_THAT([&] { device->prepare(kernels::selftest_atomics_64bit.kernel); },
                ThrowsMessage<Unsupported>(HasSubstr("needs int64_atomics, which")));
    EXPECT_NO_THROW(device->prepare(kernels::selftest_atomics.kernel));
    EXPECT_THAT(log.lines(LogLevel::warning),
                ElementsAre(AllOf(HasSubstr("computes wrong answers: 64-bit atomics: largest of item 0 is "),
                                  HasSubstr("not used: int64_atomics"))));
    EXPECT_FALSE(std::filesystem::exists(file())) << "an injected fault is not kept";
    log.clear();
}

TEST_F(SelfTestTest, AnAbsentPropertyIsNoMistake) {
    SelfTestResult result;
    result.rows = {
        {"places", Outcome::absent, "place of item 1 is 3, not 1", kernels::Feature::matrix_quads}};
    EXPECT_TRUE(result.usable());
    EXPECT_EQ(result.disabled(), kernels::Features(kernels::Feature::matrix_quads));
    EXPECT_THAT(warnings_of(result, "GPU"), IsEmpty());
}

TEST_F(SelfTestTest, LooksForThePlacesOfElements) {
    Capabilities can;
    const auto count = [&] {
        return std::ranges::count(known_answers(can), &kernels::selftest_elements.kernel,
                                  &KnownAnswer::kernel);
    };
    EXPECT_EQ(count(), 0);
    can.features = kernels::Feature::matrix_quads;
    EXPECT_EQ(count(), 1);
}

/// What the self-test says of lanes that hold index(lane, element) of a 16 x 16 matrix.
template <class Index>
std::string mistake_in_columns(const Index& index) {
    Capabilities can;
    can.features = {kernels::Feature::matrix_columns, kernels::Feature::matrix_16x16x16};
    const std::vector<KnownAnswer> answers = known_answers(can);
    const auto answer =
        std::ranges::find(answers, &kernels::selftest_columns_16x16x16.kernel, &KnownAnswer::kernel);
    if (answer == answers.end())
        return "the self-test does not look for columns";
    std::vector<float> found;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        for (std::uint32_t element = 0; element < 8; ++element)
            found.push_back(static_cast<float>(index(lane, element)));
    return answer->mistake(bytes_of(found));
}

TEST_F(SelfTestTest, LooksForColumns) {
    const auto place = [](std::uint32_t row, std::uint32_t column) { return row * 16 + column; };
    // RDNA3 and RDNA4.
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) { return place(2 * i + lane / 16, lane % 16); }), "");
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) { return place(lane / 16 * 8 + i, lane % 16); }), "");
    // Rows instead of columns.
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) { return place(lane % 16, lane / 16 * 8 + i); }),
              "element 1 of lane 0 is in column 1");
    // Columns in another order.
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) { return place(lane % 2 * 8 + i, lane / 2); }),
              "element 0 of lane 1 is in column 0");
    // Rows in another order in one lane.
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) {
                  return place(lane / 16 * 8 + (lane == 5 ? 7 - i : i), lane % 16);
              }),
              "element 0 of lane 5 is in row 7, not 0");
    // The same rows twice.
    EXPECT_EQ(mistake_in_columns([&](auto lane, auto i) { return place(i, lane % 16); }),
              "element 0 of lane 16 is in another lane, too");
    EXPECT_EQ(mistake_in_columns([](auto, auto) { return -1; }), "element 0 of lane 0 is not in the matrix");
}

TEST_F(SelfTestTest, RefusesADeviceThatCannotAdd) {
    environment.set("REKINDLE_FAULT", "wrong-answer:" + number_of("float32 arithmetic"));
    EXPECT_THAT([&] { open(); },
                ThrowsMessage<Unsupported>(AllOf(HasSubstr("computes wrong answers and is not used"),
                                                 HasSubstr("float32 arithmetic: a + b of item"))));
    log.clear();
}

TEST_F(SelfTestTest, EveryRowDetectsAWrongAnswer) {
    environment.set("REKINDLE_FAULT", "wrong-answer:1+");
    const SelfTestResult result = run_self_test(*open({.self_test = false}));
    for (const SelfTestRow& row : result.rows) {
        EXPECT_NE(row.outcome, Outcome::passed) << row.name;
        EXPECT_THAT(row.detail, Not(IsEmpty()));
    }
    EXPECT_FALSE(result.usable());
}

TEST_F(SelfTestTest, UnwrittenOutputIsWrong) {
    for (const KnownAnswer& answer : known_answers(first_device().can))
        EXPECT_THAT(answer.mistake(answer.output), Not(IsEmpty())) << answer.name;
}

} // namespace rekindle::runtime::test
