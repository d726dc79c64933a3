#include "report/redaction.h"

#include <gtest/gtest.h>

namespace rekindle::doctor {
namespace {

Redactor of_anna() {
    Facts facts;
    facts.system.user_name = {"anna", "test"};
    facts.system.host_name = {"workbench", "test"};
    PythonEnvironment& python = facts.pythons.emplace_back();
    python.path = "/home/anna/my env";
    python.interpreter = "/home/anna/my env/bin/python3";
    return Redactor(facts);
}

TEST(Redaction, HidesPathsUsersAndHosts) {
    const Redactor redact = of_anna();
    EXPECT_EQ(redact("/home/anna/venv/lib/python3.10/site-packages/torch/lib/libtorch_hip.so"),
              "<path>/site-packages/torch/lib/libtorch_hip.so");
    EXPECT_EQ(redact("Nov 21 workbench kernel: amdgpu 0000:03:00.0: reset"),
              "Nov 21 <host> kernel: amdgpu 0000:03:00.0: reset");
    EXPECT_EQ(redact("anna is not in render"), "<user> is not in render");
    EXPECT_EQ(redact("File \"/mnt/secret/project/train.py\", line 3"), "File \"<path>\", line 3");
    EXPECT_EQ(redact("LD_LIBRARY_PATH=/opt/rocm/lib:/data/x/lib"), "LD_LIBRARY_PATH=/opt/rocm/lib:<path>");
}

TEST(Redaction, ASpaceInAPathStaysVisible) {
    EXPECT_EQ(of_anna()("interpreter /home/anna/my env/bin/python3 has a space"),
              "interpreter <path with a space>/bin/python3 has a space");
}

TEST(Redaction, KeepsWhatIsTheSameOnEveryHost) {
    const Redactor redact = of_anna();
    for (const char* text :
         {"/sys/class/drm/card1/device/mem_info_vram_used", "/dev/kfd", "/opt/rocm/.info/version",
          "6.2.41133-dd7f95766", "https://download.pytorch.org/whl/rocm6.2",
          "pid 4711 holds 21,443,379,200 bytes", "annabel", "a/b ratio", "21/11/2026"})
        EXPECT_EQ(redact(text), text);
}

TEST(Redaction, RootIsNotAName) {
    Facts facts;
    facts.system.user_name = {"root", "test"};
    EXPECT_EQ(Redactor(facts)("run as root"), "run as root");
}

} // namespace
} // namespace rekindle::doctor
