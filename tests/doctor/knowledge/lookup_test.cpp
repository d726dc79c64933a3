#include "knowledge/gfx_names.h"

#include <rekindle/doctor/knowledge.h>

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

template <class T>
T entry_named(std::string T::*member, std::string name) {
    T entry;
    entry.*member = std::move(name);
    return entry;
}

GpuModel gpu(std::string name, std::vector<std::string> pci) {
    GpuModel model = entry_named<GpuModel>(&GpuModel::name, std::move(name));
    model.pci = std::move(pci);
    return model;
}

GfxTarget gfx(std::string name, std::string generic) {
    GfxTarget target = entry_named<GfxTarget>(&GfxTarget::name, std::move(name));
    target.generic = std::move(generic);
    return target;
}

TEST(KnowledgeLookup, TheRevisionDecidesBetweenModelsWithOneId) {
    Knowledge knowledge;
    knowledge.gpus = {gpu("RX 5700 XT", {"1002:731f:c1"}), gpu("RX 5600 XT", {"1002:731f:ca"}),
                      gpu("Strix Halo", {"1002:1586"})};
    EXPECT_EQ(knowledge.gpu("1002:731f", "CA")->name, "RX 5600 XT");
    EXPECT_EQ(knowledge.gpu("1002:731F", "c1")->name, "RX 5700 XT");
    EXPECT_EQ(knowledge.gpu("1002:731f", ""), nullptr);
    EXPECT_EQ(knowledge.gpu("1002:731f", "00"), nullptr);
    EXPECT_EQ(knowledge.gpu("1002:1586", "c1")->name, "Strix Halo");
    EXPECT_EQ(knowledge.gpu("1002:1586", "")->name, "Strix Halo");
}

TEST(KnowledgeLookup, TheLongestWholeNameInATextIsTheModel) {
    Knowledge knowledge;
    knowledge.gpus = {gpu("Radeon RX 7900 XT", {}), gpu("Radeon RX 7900 XTX", {}), gpu("Radeon RX 6800", {}),
                      gpu("Radeon RX 6800 XT", {}), gpu("GeForce RTX 3090", {})};
    EXPECT_EQ(knowledge.gpu_named("AMD Radeon RX 7900 XT [Navi 31]")->name, "Radeon RX 7900 XT");
    EXPECT_EQ(knowledge.gpu_named("2x rx 7900 xtx")->name, "Radeon RX 7900 XTX");
    EXPECT_EQ(knowledge.gpu_named("RX-6800 XT")->name, "Radeon RX 6800 XT");
    EXPECT_EQ(knowledge.gpu_named("an RX 6800.")->name, "Radeon RX 6800");
    EXPECT_EQ(knowledge.gpu_named("NVIDIA GeForce RTX 3090 Ti?"), knowledge.gpu_named("RTX 3090"));
    EXPECT_EQ(knowledge.gpu_named("RX 79000"), nullptr);
    EXPECT_EQ(knowledge.gpu_named(""), nullptr);
}

TEST(KnowledgeLookup, AVariableMayMatchAnyEnding) {
    Knowledge knowledge;
    for (const char* name : {"MIOPEN_DEBUG_*", "MIOPEN_DEBUG_CONV_GEMM", "MIOPEN_*"})
        knowledge.variables.push_back(entry_named<EnvironmentVariable>(&EnvironmentVariable::name, name));
    EXPECT_EQ(knowledge.variable("MIOPEN_DEBUG_CONV_GEMM")->name, "MIOPEN_DEBUG_CONV_GEMM");
    EXPECT_EQ(knowledge.variable("MIOPEN_DEBUG_CONV_FFT")->name, "MIOPEN_DEBUG_*");
    EXPECT_EQ(knowledge.variable("MIOPEN_LOG_LEVEL")->name, "MIOPEN_*");
    EXPECT_EQ(knowledge.variable("HIP_X"), nullptr);
}

TEST(KnowledgeLookup, WhatRunsOnWhichGfx) {
    Knowledge knowledge;
    knowledge.gfx_targets = {gfx("gfx1010", "gfx10-1-generic"), gfx("gfx1031", "gfx10-3-generic"),
                             gfx("gfx90a", "")};
    EXPECT_TRUE(knowledge.covers("gfx1031", "gfx1031"));
    EXPECT_FALSE(knowledge.covers("gfx1030", "gfx1031"));
    EXPECT_TRUE(knowledge.covers("gfx10-3-generic", "gfx1031"));
    EXPECT_FALSE(knowledge.covers("gfx10-3-generic", "gfx1010")); // no generic covers RDNA1 and RDNA2
    EXPECT_TRUE(knowledge.covers("gfx90a:xnack-", "gfx90a"));
    EXPECT_TRUE(knowledge.covers("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
    EXPECT_FALSE(knowledge.covers("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
    EXPECT_FALSE(knowledge.covers("", ""));
    EXPECT_FALSE(knowledge.covers("gfx10-3-generic", "gfx9999"));
    EXPECT_TRUE(knowledge.covers(std::vector<std::string>{"gfx900", "gfx1010"}, "gfx1010"));
    EXPECT_FALSE(knowledge.covers(std::vector<std::string>{}, "gfx1010"));
}

TEST(KnowledgeLookup, WhatRunsOnWhichComputeCapability) {
    const Knowledge knowledge;
    EXPECT_TRUE(knowledge.covers("sm_80", "sm_86"));
    EXPECT_FALSE(knowledge.covers("sm_86", "sm_80"));
    EXPECT_FALSE(knowledge.covers("sm_90", "sm_120"));
    EXPECT_TRUE(knowledge.covers("compute_90", "sm_120"));
    EXPECT_FALSE(knowledge.covers("compute_90", "sm_86"));
    EXPECT_TRUE(knowledge.covers("sm_90a", "sm_90"));
    EXPECT_FALSE(knowledge.covers("sm_100a", "sm_103"));
    EXPECT_FALSE(knowledge.covers("sm_80", "gfx1030"));
}

TEST(KnowledgeLookup, ARecordedReleaseHasItsOwnTargets) {
    WheelIndex index;
    index.targets = {"gfx1100", "gfx1101"};
    index.releases.resize(2);
    index.releases[0].torch = "2.5.1";
    index.releases[0].targets = {"gfx1100"};
    index.releases[1].torch = "2.6.0";
    EXPECT_EQ(index.targets_of("2.5.1").size(), 1U);
    EXPECT_EQ(index.targets_of("2.6.0").size(), 2U);
    EXPECT_EQ(index.targets_of("9.9").size(), 2U);
}

TEST(GfxNames, KfdVersions) {
    EXPECT_EQ(kfd_version_of("gfx1010"), 100100);
    EXPECT_EQ(kfd_version_of("gfx90a"), 90010);
    EXPECT_EQ(kfd_version_of("gfx90c"), 90012);
    EXPECT_EQ(kfd_version_of("gfx942"), 90402);
    EXPECT_EQ(kfd_version_of("gfx803"), 80003);
    EXPECT_EQ(kfd_version_of("gfx1151"), 110501);
    EXPECT_EQ(kfd_version_of("sm_86"), 0);
    EXPECT_EQ(kfd_version_of("gfx10-3-generic"), 0);
}

TEST(Override, NumbersAndNamesOfTargets) {
    EXPECT_EQ(override_of_gfx("gfx1030"), "10.3.0");
    EXPECT_EQ(override_of_gfx("gfx90a"), "9.0.10");
    EXPECT_EQ(override_of_gfx("gfx10-3-generic"), "");
    EXPECT_EQ(gfx_of_override("11.0.0"), "gfx1100");
    EXPECT_EQ(gfx_of_override("9.0.10"), "gfx90a");
    EXPECT_EQ(gfx_of_override("gfx1030"), "");
}

} // namespace
} // namespace rekindle::doctor
