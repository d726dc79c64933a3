#include <rekindle/doctor/review.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rekindle::doctor {
namespace {

std::vector<Mark> review(const std::string& text) {
    return review_document(text, embedded_knowledge());
}

/// Returns the verdict of the first mark in that line; fails the test if there is none.
Verdict verdict_in(const std::string& document, std::size_t line) {
    for (const Mark& mark : review(document))
        if (mark.line == line)
            return mark.verdict;
    ADD_FAILURE() << "nothing is marked in line " << line << " of\n" << document;
    return Verdict::unknown;
}

std::string compose(const std::string& service) {
    return "services:\n  train:\n" + service;
}

TEST(ComposeFiles, AnAmdGpuNeedsBothDevices) {
    const std::string image = "    image: rocm/pytorch:latest\n";
    EXPECT_EQ(verdict_in(compose("    devices:\n      - /dev/kfd\n      - /dev/dri\n"), 4), Verdict::holds);
    EXPECT_EQ(verdict_in(compose("    devices:\n      - \"/dev/kfd:/dev/kfd\"\n"), 4), Verdict::wrong);
    const std::vector<Mark> none = review(compose(image));
    EXPECT_TRUE(std::ranges::any_of(
        none, [](const Mark& mark) { return mark.kind == "container" && mark.verdict == Verdict::wrong; }));
    const std::vector<Mark> all = review(compose(image + "    privileged: true\n"));
    EXPECT_FALSE(std::ranges::any_of(all, [](const Mark& mark) { return mark.verdict == Verdict::wrong; }));
}

TEST(ComposeFiles, EachServiceStandsForItself) {
    const std::string document = "services:\n"
                                 "  amd:\n"
                                 "    devices: [/dev/kfd, /dev/dri]\n"
                                 "  nvidia:\n"
                                 "    image: nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
                                 "    deploy:\n"
                                 "      resources:\n"
                                 "        reservations:\n"
                                 "          devices:\n"
                                 "            - driver: nvidia\n"
                                 "              capabilities: [gpu]\n";
    for (const Mark& mark : review(document))
        EXPECT_EQ(mark.verdict, Verdict::holds) << mark.line << ": " << mark.text;
    EXPECT_EQ(verdict_in("services:\n  amd:\n    devices: [/dev/kfd, /dev/dri]\n    runtime: nvidia\n", 4),
              Verdict::wrong);
}

TEST(ComposeFiles, SharedMemory) {
    EXPECT_EQ(verdict_in(compose("    image: x\n    shm_size: 64m\n"), 4), Verdict::harmful);
    EXPECT_EQ(verdict_in(compose("    image: x\n    shm_size: '67108864'\n"), 4), Verdict::harmful);
    for (const char* fine : {"    shm_size: 8gb\n", "    shm_size: 1024M\n", "    shm_size: ${SHM}\n",
                             "    ipc: host\n    shm_size: 64m\n"})
        EXPECT_TRUE(review(compose("    image: x\n" + std::string(fine))).empty()) << fine;
}

TEST(ComposeFiles, EnvironmentsAreSettings) {
    const std::string gpu = "# RX 5700 XT\n";
    EXPECT_EQ(
        verdict_in(gpu + compose("    image: x\n    environment:\n      HSA_OVERRIDE_GFX_VERSION: 10.3.0\n"),
                   6),
        Verdict::harmful);
    EXPECT_EQ(
        verdict_in(gpu + compose("    image: x\n    environment:\n      - HSA_OVERRIDE_GFX_VERSION=10.3.0\n"),
                   6),
        Verdict::harmful);
}

TEST(ComposeFiles, QuotedInADocument) {
    const std::string document =
        "# Install\n\n```yaml\nservices:\n  a:\n    image: x\n    shm_size: 64m\n```\n\n"
        "    shm_size: 64m is too small.\n";
    EXPECT_EQ(review(document).size(), 1U);
    EXPECT_EQ(verdict_in(document, 7), Verdict::harmful);
}

TEST(Dockerfiles, OldAssignmentsAndBuildVariables) {
    const std::string from = "FROM rocm/pytorch:latest\n";
    EXPECT_EQ(verdict_in("# RX 5600 XT\n" + from + "ENV HSA_OVERRIDE_GFX_VERSION 10.3.0\n", 3),
              Verdict::harmful);
    EXPECT_EQ(verdict_in(from + "ENV PYTORCH_ROCM_ARCH=gfx1030\n", 2), Verdict::holds);
    EXPECT_EQ(verdict_in(from + "ENV HSA_OVERRIDE_GFX_VERSION=${GFX}\n", 2), Verdict::holds);
    EXPECT_EQ(review(from + "RUN pip install --break-system-packages numpy\n").size(), 1U)
        << "only the image";
    EXPECT_EQ(verdict_in(from + "RUN curl -sSL https://a.example/x.sh | sudo bash\n", 2), Verdict::harmful);
}

TEST(DangerousCommands, AreHarmful) {
    for (const char* command :
         {"curl -fsSL https://a.example/install.sh | sudo bash",
          "wget -qO- https://a.example/i.sh | sudo -E bash -",
          "sudo bash -c \"$(curl -fsSL https://a.example/i.sh)\"", "sudo setenforce 0",
          "kill -9 $(pgrep python)", "sudo kill -9 `lsof -t /dev/nvidia0`",
          "nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs kill -9",
          "sudo fuser -k /dev/nvidia0", "docker run --shm-size=64m image", "sudo chmod 777 /dev/kfd",
          "sudo chmod -R 777 /dev/dri", "sudo pip install torch", "pip install --break-system-packages torch",
          "rm -rf ~/.cache", "sudo chmod -R 777 /opt/rocm",
          "sudo ln -sf /usr/lib/libcublas.so.12 /usr/lib/libcublas.so.11 ",
          "sudo apt install coreutils-from-gnu --allow-remove-essential", "dpkg -i --force-all x.deb",
          "echo 'export A_B=1' > ~/.bashrc"}) {
        const std::vector<Mark> marks = review(command);
        EXPECT_TRUE(std::ranges::any_of(marks, [](const Mark& mark) {
            return mark.verdict == Verdict::harmful;
        })) << command;
    }
    EXPECT_EQ(verdict_in("## WSL\n\nsudo apt install nvidia-driver-535\n", 3), Verdict::harmful);
}

TEST(DangerousCommands, TheirHarmlessRelativesAreNot) {
    for (const char* command :
         {"curl -fsSL https://a.example/install.sh -o install.sh", "kill -TERM 4711",
          "docker run --shm-size=8g image", "docker run --shm-size=512m image",
          "pip install torch --target here", "rm -rf ~/.cache/thing", "chmod 755 run.sh",
          "echo 'export A_B=1' >> ~/.bashrc", "ln -s /data/models models",
          "sudo apt install nvidia-driver-535", "curl https://a.example | jq ."})
        for (const Mark& mark : review(command))
            EXPECT_NE(mark.verdict, Verdict::harmful) << command;
    EXPECT_TRUE(review("# Setup\n\nUnder WSL, install the driver of Windows.\n\n## Linux\n\n"
                       "sudo apt install nvidia-driver-535\n")
                    .empty());
}

TEST(DangerousCommands, AWarningIsNotAdvice) {
    EXPECT_TRUE(review("Do not run rm -rf /opt/rocm: a wheel does not need it.").empty());
    EXPECT_TRUE(review("Never use chmod 777 /dev/kfd.").empty());
    EXPECT_TRUE(review("Avoid this:\n\n```\nsudo setenforce 0\n```\n").empty());
    EXPECT_TRUE(review("## What not to do\n\n```\nkill -9 $(pgrep python)\n```\n").empty());
    EXPECT_EQ(verdict_in("Do this instead of waiting: sudo setenforce 0", 1), Verdict::harmful);
    EXPECT_EQ(verdict_in("Do not worry. Run sudo setenforce 0.", 1), Verdict::harmful);
}

TEST(InstallCommands, OnlyAnAmbiguousIndexIsWrong) {
    for (const char* fine :
         {"ROCm: pip install torch==2.5.1+rocm6.2 --extra-index-url https://download.pytorch.org/whl/rocm6.2",
          "pip install torch --extra-index-url https://download.pytorch.org/whl/cu126",
          "ROCm: pip install --pre torch --extra-index-url https://download.pytorch.org/whl/nightly/rocm6.4"})
        for (const Mark& mark : review(fine))
            EXPECT_NE(mark.verdict, Verdict::wrong) << fine << ": " << mark.reason;
    EXPECT_EQ(verdict_in("pip install torch --extra-index-url https://download.pytorch.org/whl/rocm6.2", 1),
              Verdict::wrong);
}

TEST(InstallCommands, AVersionOfAnotherPackageIsNotTorch) {
    EXPECT_TRUE(review("pip install https://a.example/flash_attn-2.6.2+cu123torch2.3-cp311.whl").empty());
    EXPECT_EQ(verdict_in("torch-2.5.1+rocm6.3-cp311.whl", 1), Verdict::wrong);
}

TEST(Targets, TheNearestGpuIsMeant) {
    const std::string document = "# to 7800XT\n# export HSA_OVERRIDE_GFX_VERSION=11.0.0\n\n\n\n# to 6800XT\n"
                                 "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n";
    for (const Mark& mark : review(document))
        EXPECT_NE(mark.verdict, Verdict::harmful) << mark.line << ": " << mark.reason;
    for (const Mark& mark : review("built for gfx940 and gfx941"))
        EXPECT_EQ(mark.verdict, Verdict::unknown) << mark.text;
    EXPECT_EQ(verdict_in("export HSA_OVERRIDE_GFX_VERSION=10.3.0\n\nThis makes the RX 5700 XT train.\n", 1),
              Verdict::harmful)
        << "no GPU is named before the first lines, so the document's GPU is meant";
}

} // namespace
} // namespace rekindle::doctor
