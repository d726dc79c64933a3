/// Parameters of kernel modules: what people set them for, and what they do.

#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace rekindle::doctor {
namespace {

/// The verdict on the first mark whose text contains `part`; none if nothing is marked there.
std::optional<Verdict> verdict_on(std::string_view document, std::string_view part) {
    for (const Mark& mark : review_document(document, embedded_knowledge()))
        if (mark.text.find(part) != std::string::npos)
            return mark.verdict;
    return std::nullopt;
}

TEST(ModuleParameters, ATimeoutOfZeroTurnsNothingOff) {
    for (const char* text : {"Add `amdgpu.lockup_timeout=0` to the kernel line, it turns the watchdog off.",
                             "options amdgpu lockup_timeout=0,0,0,0", "amdgpu.lockup_timeout=0",
                             "lockup_timeout=0 disables the watchdog."})
        EXPECT_EQ(verdict_on(text, "lockup_timeout"), Verdict::no_effect) << text;
    for (const char* text : {"amdgpu.lockup_timeout=-1", "amdgpu.lockup_timeout=10000,-1,10000,10000"})
        EXPECT_EQ(verdict_on(text, "lockup_timeout"), Verdict::harmful) << text;
    for (const char* text : {"amdgpu.lockup_timeout=60000", "amdgpu.lockup_timeout=10000,60000,10000,10000",
                             "The parameter amdgpu.lockup_timeout has its default."})
        EXPECT_EQ(verdict_on(text, "lockup_timeout"), Verdict::holds) << text;
    EXPECT_EQ(verdict_on("Do not use amdgpu.lockup_timeout=0.", "lockup_timeout"), std::nullopt);
}

TEST(ModuleParameters, ForbiddingTheResetIsHarmful) {
    EXPECT_EQ(verdict_on("amdgpu.gpu_recovery=0", "gpu_recovery"), Verdict::harmful);
    EXPECT_EQ(verdict_on("amdgpu.gpu_recovery=1", "gpu_recovery"), Verdict::holds);
    EXPECT_EQ(verdict_on("Never set amdgpu.gpu_recovery=0.", "gpu_recovery"), std::nullopt);
}

TEST(ModuleParameters, ARemedyIsJudgedByWhatItIsSaidToCure) {
    EXPECT_EQ(verdict_on("amdgpu.noretry=0 fixes page faults.", "noretry"), Verdict::no_effect);
    EXPECT_EQ(verdict_on("The default of amdgpu.noretry=-1 depends on the GPU.", "noretry"), Verdict::holds);
    EXPECT_EQ(verdict_on("amdgpu.vm_fragment_size=9 solves out of memory errors", "vm_fragment"),
              Verdict::no_effect);
    EXPECT_EQ(verdict_on("We measured amdgpu.vm_fragment_size=9 and saw no difference.", "vm_fragment"),
              Verdict::holds);
    EXPECT_EQ(verdict_on("amdgpu.vm_fault_stop=0 turns page faults off", "vm_fault_stop"),
              Verdict::no_effect);
    EXPECT_EQ(verdict_on("Against the hangs:\n\n```\namdgpu.sched_policy=2\n```\n", "sched_policy"),
              Verdict::harmful);
}

TEST(ModuleParameters, PowerFeaturesAreForOverclocking) {
    EXPECT_EQ(verdict_on("amdgpu.ppfeaturemask=0xffffffff makes training stable", "ppfeaturemask"),
              Verdict::no_effect);
    for (const char* text :
         {"amdgpu.ppfeaturemask=0xffffffff lets CoreCtrl set the clocks.",
          "## Undervolting\n\n```\nGRUB_CMDLINE_LINUX=\"amdgpu.ppfeaturemask=0xffffffff\"\n```\n"})
        EXPECT_EQ(verdict_on(text, "ppfeaturemask"), Verdict::holds) << text;
}

TEST(ModuleParameters, EveryWordAfterTheModuleIsRead) {
    const std::string_view line = "options amdgpu runpm=0 aspm=0 dpm=0 gpu_recovery=0";
    EXPECT_EQ(verdict_on(line, "runpm"), Verdict::holds);
    EXPECT_EQ(verdict_on(line, "aspm"), Verdict::holds);
    EXPECT_EQ(verdict_on(line, "dpm=0"), Verdict::harmful);
    EXPECT_EQ(verdict_on(line, "gpu_recovery"), Verdict::harmful);
    EXPECT_EQ(verdict_on("dpm=0 in another program", "dpm"), std::nullopt);
    EXPECT_EQ(verdict_on("see /etc/modprobe.d/amdgpu.conf", "conf"), std::nullopt);
}

TEST(ModuleParameters, NamesThatDoNotExist) {
    EXPECT_EQ(verdict_on("amdgpu.disable_watchdog=1", "disable_watchdog"), Verdict::no_effect);
    EXPECT_EQ(verdict_on("options nvidia NVreg_DisableWatchdog=1", "NVreg_DisableWatchdog"),
              Verdict::no_effect);
    for (const char* text :
         {"amdgpu.dcdebugmask=0x10", "amdgpu.sg_display=0", "options nvidia NVreg_EnableMSI=1",
          "options nvidia NVreg_PreserveVideoMemoryAllocations=1 NVreg_TemporaryFilePath=/var/tmp"})
        for (const Mark& mark : review_document(text, embedded_knowledge()))
            EXPECT_EQ(mark.verdict, Verdict::holds) << text << ": " << mark.reason;
}

} // namespace
} // namespace rekindle::doctor
