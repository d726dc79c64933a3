#include <rekindle/doctor/facts_json.h>
#include <rekindle/foundation/error.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rekindle::doctor {
namespace {

using Json = nlohmann::ordered_json;

Facts some_facts() {
    Facts facts;
    facts.origin = "this host";
    facts.system.kernel = {"6.8.0-45-generic", "/proc/sys/kernel/osrelease"};
    facts.system.groups = {std::vector<int>{44, 1000}, "getgroups"};
    facts.system.known_groups = {std::map<std::string, int>{{"render", 109}}, "/etc/group"};
    facts.kfd = Fact<bool>::failed("Permission denied", "/sys/class/kfd/kfd");
    Gpu gpu;
    gpu.address = "0000:03:00.0";
    gpu.vendor = "amd";
    gpu.gfx = {"gfx1100", "/sys/class/kfd/kfd/topology/nodes/1/properties"};
    gpu.vram_total = {21458059264, "/sys/class/drm/card1/device/mem_info_vram_total"};
    gpu.link = {PciLink{16, 16, 16, 16}, "/sys/class/drm/card1/device"};
    gpu.holders = {
        {.pid = 4711, .command = "python3", .vram = 21000000000, .source = "/proc/4711/fdinfo/12"}};
    facts.gpus.push_back(gpu);
    return facts;
}

TEST(FactsJson, RoundTrips) {
    const Json json = to_json(some_facts());
    const Facts read = facts_from_json(Json::parse(json.dump()), "test");
    EXPECT_EQ(to_json(read), json);
    EXPECT_EQ(*read.gpus.at(0).gfx, "gfx1100");
    EXPECT_EQ(read.gpus[0].holders.at(0).pid, 4711);
    EXPECT_EQ(read.kfd.unread, "Permission denied");
    EXPECT_FALSE(read.kfd.known());
}

TEST(FactsJson, ABareValueIsAFact) {
    const Facts facts =
        facts_from_json(Json::parse(R"({"schema": 1, "system": {"kernel": "6.8"}, "kfd": true})"), "test");
    EXPECT_TRUE(facts.system.kernel.is("6.8"));
    EXPECT_TRUE(facts.kfd.is(true));
}

TEST(FactsJson, MistakesNameTheField) {
    const auto message = [](const char* text) {
        try {
            facts_from_json(Json::parse(text), "host.json");
        } catch (const Error& error) {
            return error.where() + ": " + error.message();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message(R"({"gpus": [{"vram_totl": 1}]})"), "host.json.gpus[0]: unknown field \"vram_totl\"");
    EXPECT_EQ(message(R"({"gpus": [{"vram_total": -1}]})"),
              "host.json.gpus[0].vram_total: not an integer in range");
    EXPECT_EQ(message(R"({"system": {"kernel": {"value": 6}}})"), "host.json.system.kernel.value: not text");
    EXPECT_EQ(message(R"({"schema": 99})"), "host.json: the facts have schema 99");
}

} // namespace
} // namespace rekindle::doctor
