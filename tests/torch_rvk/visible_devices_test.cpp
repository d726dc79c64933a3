/// The device lists of CUDA and ROCm with several devices, against the rules that CUDA documents (CUDA C++
/// Programming Guide, environment variables) and ROCm (GPU isolation techniques): numbers or beginnings of
/// UUIDs, in the order of the list; the list ends before the first entry that names no device.

#include "device/cuda_variables.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

namespace rvk {
namespace {

using Numbers = std::vector<std::size_t>;
using Variables = std::map<std::string, std::string>;

/// The second and the third begin alike.
const std::vector<std::string> three{"GPU-11aa0000-0000-0000-0000-000000000001",
                                     "GPU-22bb0000-0000-0000-0000-000000000002",
                                     "GPU-22cc0000-0000-0000-0000-000000000003"};

class VisibleDevicesTest : public testing::Test {
  protected:
    VisibleDevicesTest() { set({}); }
    ~VisibleDevicesTest() override {
        for (const char* name : names)
            ::unsetenv(name);
    }

    static void set(const Variables& variables, const char* mapped = "1") {
        for (const char* name : names)
            ::unsetenv(name);
        ::setenv("TORCH_RVK_FROM_CUDA", mapped, 1);
        for (const auto& [name, value] : variables)
            ::setenv(name.c_str(), value.c_str(), 1);
    }
    static Numbers visible(const Variables& variables) {
        set(variables);
        const auto found = visible_by_cuda_variables(three);
        EXPECT_TRUE(found);
        return found ? found->numbers : Numbers{99};
    }

    static constexpr std::array names{"TORCH_RVK_FROM_CUDA", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                      "ROCR_VISIBLE_DEVICES"};
};

const std::vector<std::pair<std::string, Numbers>> lists{
    {"", {}},
    {"-1", {}},
    {"0", {0}},
    {"2", {2}},
    {"1,0", {1, 0}},
    {"2,0,1", {2, 0, 1}},
    {" 2 , 1 ", {2, 1}},
    {"3", {}},       // one past the last
    {"0,3,1", {0}},  // the list ends at the first that does not exist
    {"1,-1,0", {1}}, // -1 ends it, too
    {"0,,1", {0}},   // an empty entry names nothing
    {"1,", {1}},
    {",1", {}},
    {"none", {}},
    {"NoDevFiles", {}},
    {"0,x,1", {0}},
    {"99999999999999999999999,0", {}}, // wider than any number
    {"1,1", {}},                       // a device named twice leaves none
    {"0,1,0", {}},
    {"0,3,0", {0}}, // after the end nothing counts
    {three[1], {1}},
    {three[2] + "," + three[0], {2, 0}},
    {"GPU-11", {0}},
    {"GPU-22bb", {1}},
    {"GPU-22cc,GPU-11", {2, 0}},
    {"GPU-22", {}}, // the beginning of two
    {"GPU-11,GPU-22,0", {0}},
    {"GPU-", {}},
    {"GPU-33", {}},
    {three[0] + "0", {}}, // longer than the UUID
    {"11aa0000", {}},     // a UUID without its prefix: no number that exists
    {"GPU-11,0", {}},     // the same device by both
    {"GPU-22cc,0", {2, 0}},
    {"MIG-" + three[0], {}},
};

TEST_F(VisibleDevicesTest, EachVariableAlone) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
        for (const auto& [list, expected] : lists)
            EXPECT_EQ(visible({{name, list}}), expected) << name << "=\"" << list << '"';
}

TEST_F(VisibleDevicesTest, NothingIsAppliedWithoutAVariableOrWithoutTheMapping) {
    EXPECT_FALSE(visible_by_cuda_variables(three)) << "no variable is set";
    set({{"CUDA_VISIBLE_DEVICES", ""}}, "0");
    EXPECT_FALSE(visible_by_cuda_variables(three));
    ::unsetenv("TORCH_RVK_FROM_CUDA");
    EXPECT_FALSE(visible_by_cuda_variables(three));
    EXPECT_TRUE(visible({{"CUDA_VISIBLE_DEVICES", ""}}).empty());
}

/// HIP's numbers count what ROCr leaves.
TEST_F(VisibleDevicesTest, TheRuntimesListCountsWithinTheDriversList) {
    const auto both = [](const char* rocr, const char* hip) {
        return visible({{"ROCR_VISIBLE_DEVICES", rocr}, {"HIP_VISIBLE_DEVICES", hip}});
    };
    EXPECT_EQ(both("2,0", "0"), (Numbers{2}));
    EXPECT_EQ(both("2,0", "1"), (Numbers{0}));
    EXPECT_EQ(both("2,0", "1,0"), (Numbers{0, 2}));
    EXPECT_EQ(both("2,0", "2"), Numbers{});
    EXPECT_EQ(both("2,0", "GPU-11"), (Numbers{0}));
    EXPECT_EQ(both("2,0", "GPU-22"), (Numbers{2})) << "now only one begins with it";
    EXPECT_EQ(both("2,0", "GPU-22bb"), Numbers{}) << "a device that ROCr hides";
    EXPECT_EQ(both("", "0"), Numbers{});
    EXPECT_EQ(both("1", ""), Numbers{});
    EXPECT_EQ(visible({{"ROCR_VISIBLE_DEVICES", "1,2"}, {"CUDA_VISIBLE_DEVICES", "1"}}), (Numbers{2}));
}

TEST_F(VisibleDevicesTest, HipComesBeforeCuda) {
    EXPECT_EQ(visible({{"HIP_VISIBLE_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "0"}}), (Numbers{2}));
    EXPECT_EQ(visible({{"HIP_VISIBLE_DEVICES", ""}, {"CUDA_VISIBLE_DEVICES", "0"}}), Numbers{});
}

TEST_F(VisibleDevicesTest, TheVariableThatHidesEveryDeviceIsNamed) {
    const auto named_variable = [](const Variables& variables) {
        set(variables);
        const auto found = visible_by_cuda_variables(three);
        return found && found->numbers.empty() ? found->variable : "";
    };
    EXPECT_EQ(named_variable({{"CUDA_VISIBLE_DEVICES", "7"}}), "CUDA_VISIBLE_DEVICES=\"7\"");
    EXPECT_EQ(named_variable({{"ROCR_VISIBLE_DEVICES", ""}, {"HIP_VISIBLE_DEVICES", "0"}}),
              "ROCR_VISIBLE_DEVICES=\"\"");
    EXPECT_EQ(named_variable({{"ROCR_VISIBLE_DEVICES", "0"}, {"HIP_VISIBLE_DEVICES", "1"}}),
              "HIP_VISIBLE_DEVICES=\"1\"");
}

TEST_F(VisibleDevicesTest, WithoutDevicesEveryListIsEmpty) {
    for (const auto& [list, expected] : lists) {
        set({{"CUDA_VISIBLE_DEVICES", list}});
        const auto found = visible_by_cuda_variables({});
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->numbers.empty()) << list;
    }
}

/// The rules once more, as CUDA's guide words them.
Numbers by_the_rules(const std::string& list) {
    Numbers numbers;
    std::istringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
        Numbers candidates;
        for (std::size_t i = 0; i < three.size(); ++i)
            if (entry == std::to_string(i) ||
                (entry.substr(0, 4) == "GPU-" && three[i].substr(0, entry.size()) == entry))
                candidates.push_back(i);
        if (candidates.size() != 1)
            break;
        numbers.push_back(candidates.front());
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (numbers[i] == numbers[j])
                return {};
    return numbers;
}

TEST_F(VisibleDevicesTest, EveryListOfUpToFourEntries) {
    const std::vector<std::string> entries{"0", "1", "2", "3", "-1", "x", three[0], "GPU-22bb", "GPU-22"};
    std::vector<std::string> all{""};
    for (std::size_t from = 0, length = 1; length <= 4; ++length) {
        const std::size_t end = all.size();
        for (; from < end; ++from)
            for (const std::string& entry : entries)
                all.push_back(length == 1 ? entry : all[from] + "," + entry);
    }
    ASSERT_EQ(all.size(), 1U + 9 + 81 + 729 + 6561);
    for (const std::string& list : all)
        ASSERT_EQ(visible({{"CUDA_VISIBLE_DEVICES", list}}), by_the_rules(list)) << list;
}

} // namespace
} // namespace rvk
