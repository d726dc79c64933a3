#include "conditions/evaluate.h"
#include "conditions/keys.h"
#include "facts/versions.h"
#include "log/host_situation.h"

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

Condition key(std::string name, std::vector<std::string> values) {
    Condition condition;
    condition.key = std::move(name);
    condition.values = std::move(values);
    return condition;
}

Condition joined(std::string name, std::vector<Condition> parts) {
    Condition condition;
    condition.key = std::move(name);
    condition.parts = std::move(parts);
    return condition;
}

Facts posted(std::string gpu, std::string gfx, std::string torch) {
    Facts facts;
    facts.origin = "a posted case";
    Gpu one;
    one.vendor = "amd";
    if (!gpu.empty())
        one.name = {std::move(gpu), "the posted facts"};
    if (!gfx.empty())
        one.gfx = {std::move(gfx), "the posted facts"};
    facts.gpus.push_back(one);
    PythonEnvironment python;
    if (!torch.empty())
        python.torch = {std::move(torch), "the posted facts"};
    facts.pythons.push_back(python);
    return facts;
}

Truth truth(const Condition& condition, const Facts& facts) {
    return evaluate(condition, situation_of(facts, embedded_knowledge())).truth;
}

TEST(VersionRange, ComparesNumberByNumber) {
    EXPECT_TRUE(*version_in("2.10.0+rocm7.13", ">=2.9"));
    EXPECT_FALSE(*version_in("2.5.1", ">=2.6, <2.7"));
    EXPECT_TRUE(*version_in("2.6.0.dev20241014", ">=2.6, <2.7"));
    EXPECT_TRUE(*version_in("6.2.4", "6.2"));
    EXPECT_FALSE(*version_in("6.20", "6.2"));
    EXPECT_TRUE(*version_in("6.8.0-45-generic", "<6.16.9"));
    EXPECT_TRUE(*version_in("6.2.0", "==6.2"));
    EXPECT_FALSE(version_in("nightly", ">=2"));
    EXPECT_FALSE(version_in("2.1", ">=two"));
    EXPECT_FALSE(version_in("99999999999999999999999.1", ">=2"));
    EXPECT_TRUE(*number_in(0.5, ">=0.5"));
    EXPECT_FALSE(*number_in(64, "<64"));
    EXPECT_FALSE(number_in(1, "much"));
}

TEST(Conditions, ThreeStates) {
    const Facts facts = posted("Radeon RX 5700 XT", "", "2.5.1+rocm6.2");
    EXPECT_EQ(truth({}, {}), Truth::yes);
    EXPECT_EQ(truth(key("gfx", {"gfx1010"}), facts), Truth::yes) << "the name implies it";
    EXPECT_EQ(truth(key("gfx", {"RDNA1", "RDNA2"}), facts), Truth::yes);
    EXPECT_EQ(truth(key("gfx", {"gfx101X"}), facts), Truth::yes);
    EXPECT_EQ(truth(key("gfx", {"gfx1100"}), facts), Truth::no);
    EXPECT_EQ(truth(key("gfx", {"gfx1100"}), {}), Truth::unknown);
    EXPECT_EQ(truth(key("torch", {">=2.6"}), facts), Truth::no);
    EXPECT_EQ(truth(key("rocm", {"6.2"}), facts), Truth::yes) << "the wheel's own";
    EXPECT_EQ(truth(key("torch_kind", {"rocm"}), facts), Truth::yes);
    EXPECT_EQ(truth(key("kernel", {">=6"}), facts), Truth::unknown);
    EXPECT_EQ(truth(key("integrated", {"true"}), facts), Truth::unknown) << "nobody said that there is none";
    EXPECT_EQ(truth(key("devices", {">=2"}), facts), Truth::no);
    EXPECT_EQ(truth(key("no_such_key", {"1"}), facts), Truth::unknown);
}

TEST(Conditions, Combinations) {
    const Facts facts = posted("", "gfx1010", "");
    const Condition yes = key("gfx", {"gfx1010"});
    const Condition no = key("gfx", {"gfx1100"});
    const Condition unknown = key("kernel", {">=6"});
    EXPECT_EQ(truth(joined("all", {yes, unknown}), facts), Truth::unknown);
    EXPECT_EQ(truth(joined("all", {unknown, no}), facts), Truth::no);
    EXPECT_EQ(truth(joined("any", {unknown, no}), facts), Truth::unknown);
    EXPECT_EQ(truth(joined("any", {unknown, yes}), facts), Truth::yes);
    EXPECT_EQ(truth(joined("not", {yes}), facts), Truth::no);
    EXPECT_EQ(truth(joined("not", {joined("all", {no})}), facts), Truth::yes);
    EXPECT_EQ(truth(joined("not", {unknown}), facts), Truth::unknown);
    const ConditionVerdict verdict =
        evaluate(joined("all", {yes, unknown}), situation_of(facts, embedded_knowledge()));
    EXPECT_EQ(verdict.missing, std::vector<std::string>{"kernel"});
    EXPECT_EQ(verdict.used, std::vector<std::string>{"gfx"});
}

TEST(Conditions, VariablesThatAPostedTextDoesNotNameAreUnknown) {
    Facts facts = posted("Radeon RX 7900 XTX", "", "");
    facts.environment.source = "the posted facts";
    facts.environment.variables = {{{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}}, "the posted facts"};
    EXPECT_EQ(truth(key("env.HSA_OVERRIDE_GFX_VERSION", {"present"}), facts), Truth::yes);
    EXPECT_EQ(truth(key("env.HSA_OVERRIDE_GFX_VERSION", {"absent"}), facts), Truth::no);
    EXPECT_EQ(truth(key("env.HSA_OVERRIDE_GFX_VERSION", {"^10\\."}), facts), Truth::yes);
    EXPECT_EQ(truth(key("override_native", {"true"}), facts), Truth::no);
    EXPECT_EQ(truth(key("env.HIP_VISIBLE_DEVICES", {"absent"}), facts), Truth::unknown);
    facts.origin = "this host";
    EXPECT_EQ(truth(key("env.HIP_VISIBLE_DEVICES", {"absent"}), facts), Truth::yes);
    EXPECT_EQ(truth(key("env.HIP_VISIBLE_DEVICES", {"present"}), facts), Truth::no);
}

TEST(Conditions, WhetherAWheelContainsTheTarget) {
    EXPECT_EQ(truth(key("wheel_contains_gfx", {"false"}), posted("Radeon RX 5700 XT", "", "2.5.1+rocm6.2")),
              Truth::yes);
    EXPECT_EQ(truth(key("wheel_contains_gfx", {"true"}), posted("Radeon RX 7900 XT", "", "2.5.1+rocm6.2")),
              Truth::yes);
    EXPECT_EQ(truth(key("wheel_contains_gfx", {"true"}), posted("", "gfx1151", "2.9.1+rocm6.4")), Truth::no);
    // An unknown publisher: nothing is known about its targets.
    EXPECT_EQ(truth(key("wheel_contains_gfx", {"true"}), posted("", "gfx1151", "2.10.0+rocm7.13.0a20260508")),
              Truth::unknown);
    Facts read = posted("Radeon RX 5700 XT", "", "2.5.1+rocm6.2");
    read.pythons[0].libraries.push_back(
        {.path = "libtorch_hip.so", .part = "torch", .targets = {"gfx1010"}, .bytes = {}, .unread = ""});
    EXPECT_EQ(truth(key("wheel_contains_gfx", {"true"}), read), Truth::yes)
        << "what was read counts, not the index";
}

TEST(Conditions, PublishersOfWheels) {
    const auto publisher = [](const char* torch) {
        return std::string(situation_of(posted("", "", torch), embedded_knowledge()).first("torch_source"));
    };
    EXPECT_EQ(publisher("2.5.1+rocm6.2"), "pytorch.org");
    EXPECT_EQ(publisher("2.7.0+rocm6.2.4"), "pytorch.org");
    EXPECT_EQ(publisher("2.10.0+rocm7.13.0a20260508"), "therock");
    EXPECT_EQ(publisher("2.7.1+rocm7.0.0.dev0"), "therock");
    EXPECT_EQ(publisher("2.9.1+rocm7.10.0"), "therock");
    EXPECT_EQ(publisher("2.4.0+rocm6.3.4.git7cecbf6d"), "amd");
    EXPECT_EQ(publisher("2.6.0+cu124"), "pytorch.org");
    EXPECT_EQ(publisher("2.6.0"), "");
}

TEST(Conditions, MistakesAreReported) {
    EXPECT_EQ(mistake_in(key("gpx", {"1"})), "unknown condition \"gpx\"");
    EXPECT_NE(mistake_in(key("torch", {"two"})), "");
    EXPECT_NE(mistake_in(key("wsl", {"yes"})), "");
    EXPECT_NE(mistake_in(key("os", {"("})), "");
    EXPECT_NE(mistake_in(joined("any", {key("torch", {"2"}), key("devices", {"many"})})), "");
    EXPECT_NE(mistake_in(joined("not", {})), "");
    EXPECT_EQ(mistake_in(key("env.HSA_OVERRIDE_GFX_VERSION", {"absent"})), "");
    EXPECT_EQ(mistake_in(key("package.numpy", {">=2"})), "");
    EXPECT_EQ(mistake_in({}), "");
}

} // namespace
} // namespace rekindle::doctor
