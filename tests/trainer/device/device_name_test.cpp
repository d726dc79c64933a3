/// Every device name is understood or refused, and a CPU driver is never used as a GPU.

#include "../run_fixture.h"

#include <rekindle/runtime/device.h>
#include <rekindle/trainer/device_name.h>
#include <rekindle/trainer/verify.h>

namespace rekindle::trainer {
namespace {

using namespace fixtures;
using Kind = runtime::DeviceSelector::Kind;

struct Understood {
    const char* written;
    Kind kind;
    std::uint32_t number;
    bool must_be_gpu;
    const char* text;
};

TEST(DeviceNames, ValidNamesAreUnderstood) {
    for (const Understood& name :
         std::initializer_list<Understood>{{"auto", Kind::automatic, 0, false, "auto"},
                                           {" AUTO ", Kind::automatic, 0, false, "auto"},
                                           {"cpu", Kind::cpu, 0, false, "cpu"},
                                           {"cpu:0", Kind::cpu, 0, false, "cpu"},
                                           {"gpu", Kind::any_gpu, 0, true, "gpu"},
                                           {"cuda", Kind::any_gpu, 0, true, "gpu"},
                                           {"CUDA", Kind::any_gpu, 0, true, "gpu"},
                                           {"hip", Kind::any_gpu, 0, true, "gpu"},
                                           {"rocm", Kind::any_gpu, 0, true, "gpu"},
                                           {"vulkan", Kind::any_gpu, 0, true, "gpu"},
                                           {"rvk", Kind::any_gpu, 0, true, "gpu"},
                                           {"cuda:0", Kind::number, 0, true, "cuda:0"},
                                           {"cuda:01", Kind::number, 1, true, "cuda:1"},
                                           {"Hip:3", Kind::number, 3, true, "hip:3"},
                                           {"rocm:1", Kind::number, 1, true, "rocm:1"},
                                           {"0", Kind::number, 0, true, "cuda:0"},
                                           {"gpu:7", Kind::number, 7, false, "gpu:7"},
                                           {"vulkan:1", Kind::number, 1, false, "gpu:1"},
                                           {"rvk:2", Kind::number, 2, false, "gpu:2"},
                                           {"GPU-0A1b2c3d-0000-1111-2222-333344445555", Kind::uuid, 0, false,
                                            "gpu-0a1b2c3d-0000-1111-2222-333344445555"},
                                           {"0a1b2c3d-0000-1111-2222-333344445555", Kind::uuid, 0, false,
                                            "0a1b2c3d-0000-1111-2222-333344445555"}}) {
        const runtime::DeviceSelector found = parse_device_name(name.written);
        EXPECT_EQ(found.kind, name.kind) << name.written;
        EXPECT_EQ(found.number, name.number) << name.written;
        EXPECT_EQ(found.must_be_gpu, name.must_be_gpu) << name.written;
        EXPECT_EQ(found.text, name.text) << name.written;
        EXPECT_EQ(parse_device_name(found.text).kind, found.kind) << "its own text is a valid name";
        EXPECT_EQ(parse_device_name(found.text).must_be_gpu, found.must_be_gpu) << name.written;
    }
}

TEST(DeviceNames, IdsAreNumbersEachOnce) {
    using Ids = std::vector<std::uint32_t>;
    EXPECT_EQ(parse_device_ids(""), Ids{});
    EXPECT_EQ(parse_device_ids("1, 0,1"), (Ids{1, 0}));
    try {
        parse_device_ids("0;1");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.render(),
                  "--device-ids: \"0;1\" is not a list of devices, expected numbers such as 0 or 0,1");
    }
}

TEST(DeviceNames, InvalidNamesAreRefused) {
    for (const char* written : {"",
                                " ",
                                "gpu:",
                                "cuda:",
                                ":0",
                                "gpu:-1",
                                "cuda:+1",
                                "gpu: 1",
                                "gpu:1.0",
                                "gpu:99999",
                                "cuda:0x1",
                                "gpu0",
                                "cuda0",
                                "gpus",
                                "cuda:0,1",
                                "0,1",
                                "cuda:0,cuda:1",
                                "-1",
                                "cpu:1",
                                "auto:0",
                                "mps",
                                "mps:0",
                                "xpu",
                                "xpu:0",
                                "tpu",
                                "xla",
                                "npu",
                                "metal",
                                "opencl",
                                "dml",
                                "directml:0",
                                "privateuseone:0",
                                "meta",
                                "nvidia",
                                "amd",
                                "intel",
                                "llvmpipe",
                                "lavapipe",
                                "all",
                                "none",
                                "best",
                                "GPU-0a1b2c3d-0000",
                                "GPU-0a1b2c3d00001111222233334444555500000",
                                "------------------------------------",
                                "MIG-0a1b2c3d-0000-1111-2222-333344445555",
                                "00:1f.0",
                                "0000:03:00.0",
                                "/dev/dri/renderD128"}) {
        try {
            parse_device_name(written);
            ADD_FAILURE() << "\"" << written << "\" was understood";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), ExitStatus::usage) << written;
            EXPECT_EQ(error.where(), "--device") << written;
            EXPECT_FALSE(error.advice().empty()) << written;
        }
    }
}

/// When there is only a CPU driver, no name of a GPU finds it.
TEST(DeviceNames, GpuNamesNeverMeanACpuDriver) {
    std::string reason;
    const auto devices = runtime::list_devices(&reason);
    if (devices.empty())
        GTEST_SKIP() << "there is no Vulkan device: " << reason;
    for (const char* written : {"gpu", "cuda", "hip", "rocm", "vulkan", "rvk"}) {
        const bool any = std::ranges::any_of(devices, [](const runtime::DeviceInfo& d) {
            return d.type != runtime::DeviceType::cpu && d.unusable.empty();
        });
        if (any)
            EXPECT_NE(find_device(parse_device_name(written)).type, runtime::DeviceType::cpu) << written;
        else
            EXPECT_THROW(find_device(parse_device_name(written)), Error) << written;
    }
    for (const runtime::DeviceInfo& device : devices) {
        for (const char* prefix : {"cuda:", "hip:", "rocm:", ""}) {
            const runtime::DeviceSelector name = parse_device_name(prefix + std::to_string(device.number));
            if (device.type != runtime::DeviceType::cpu) {
                EXPECT_EQ(find_device(name).uuid, device.uuid);
                continue;
            }
            try {
                find_device(name);
                ADD_FAILURE() << name.text << " took " << device.name;
            } catch (const Error& error) {
                EXPECT_NE(error.render().find(device.name), std::string::npos) << error.render();
                EXPECT_NE(error.render().find("--device " + device.address()), std::string::npos);
            }
            EXPECT_THROW(devices_to_verify(name.text), Error);
        }
        for (const std::string& own : {device.address(), device.uuid_text()})
            EXPECT_EQ(find_device(parse_device_name(own)).uuid, device.uuid) << own;
        EXPECT_EQ(cpu_driver_warning(device).empty(), device.type != runtime::DeviceType::cpu);
    }
    EXPECT_THROW(find_device(parse_device_name("gpu:4711")), Error);
    EXPECT_THROW(find_device(parse_device_name("GPU-00000000-0000-0000-0000-000000000000")), Error);
}

class NamedDeviceTest : public RunTest {};

TEST_F(NamedDeviceTest, DeviceIdsNeverMeanACpuDriver) {
    std::string reason;
    const auto devices = runtime::list_devices(&reason);
    if (devices.empty() || devices.front().type != runtime::DeviceType::cpu)
        GTEST_SKIP() << "needs a machine whose first Vulkan device is a CPU driver " << reason;
    for (const char* device : {"gpu", "cuda", "cuda:0", "hip:0", "rocm", "0"}) {
        TrainConfig settings = config();
        settings.device = device;
        settings.device_ids = "0";
        const std::string error = error_of([&] { run(settings); });
        EXPECT_TRUE(contains(error, "CPU driver")) << device << ": " << error;
        EXPECT_FALSE(fs::exists(output()));
    }
}

} // namespace
} // namespace rekindle::trainer
