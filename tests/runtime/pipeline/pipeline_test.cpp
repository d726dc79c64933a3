#include "fixture.h"
#include "opened_device.h"
#include "temporary_folder.h"

#include <rekindle/kernels/families/testing.h>
#include <rekindle/kernels/launchers.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace rekindle::runtime::test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

class PipelineTest : public DeviceTest {
  protected:
    PipelineTest() { cache = folder_ / "cache"; }

    static VulkanDevice& internals(Device& device) { return dynamic_cast<OpenedDevice&>(device).vulkan(); }

    /// Compiles a kernel and closes the device again; returns the file that was written.
    std::filesystem::path file_after_use() {
        open({.self_test = false})->prepare(kernel);
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(cache + "/pipelines"))
            if (entry.path().extension() != ".lock")
                files.push_back(entry.path());
        EXPECT_EQ(files.size(), 1u);
        return files.at(0);
    }
    static std::string bytes_of(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void write(const std::filesystem::path& path, const std::string& bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }

    const kernels::Kernel& kernel = kernels::fill_words.kernel;

  private:
    const rekindle::test::TemporaryFolder folder_;
};

TEST_F(PipelineTest, CompilesTheSamePipelineOnce) {
    const std::shared_ptr<Device> device = open({.self_test = false});
    std::vector<const Pipeline*> seen(8);
    {
        std::vector<std::jthread> threads;
        for (const Pipeline*& pipeline : seen)
            threads.emplace_back([&] { pipeline = &device->prepare(kernel); });
    }
    EXPECT_TRUE(seen[0]->ready());
    EXPECT_EQ(seen[0]->kernel, &kernel);
    EXPECT_THAT(seen, testing::Each(seen[0]));
}

TEST_F(PipelineTest, AnEqualDescriptionOfAKernelHasTheSamePipeline) {
    const std::shared_ptr<Device> device = open({.self_test = false});
    const Pipeline& pipeline = device->prepare(kernel);
    const kernels::Kernel same = kernel;
    EXPECT_EQ(&device->prepare(same), &pipeline);
    std::vector<kernels::ConstantValue> initial;
    for (const kernels::SpecializationConstant& constant : kernel.constants)
        initial.push_back({constant.name, constant.initial});
    EXPECT_EQ(&device->prepare(kernel, initial), &pipeline);
}

TEST_F(PipelineTest, RefusesUnknownConstantsAndMissingFeatures) {
    const std::shared_ptr<Device> device = open({.self_test = false});
    const kernels::ConstantValue unknown[] = {{"no_such_constant", 1}};
    EXPECT_THAT([&] { device->prepare(kernel, unknown); },
                ThrowsMessage<Error>(HasSubstr("no constant no_such_constant")));
    kernels::Kernel demanding = kernel;
    const kernels::Features all(0x1fff);
    demanding.needs = all.without(device->usable_features());
    if (!demanding.needs.empty()) {
        EXPECT_THROW(device->prepare(demanding), Unsupported);
    }
    kernels::Kernel large = kernel;
    large.threads = device->info().can.maximum_threads + 1;
    EXPECT_THAT([&] { device->prepare(large); }, ThrowsMessage<Unsupported>(HasSubstr("workgroups of")));
}

TEST_F(PipelineTest, KeepsTheDriversCacheOnDisk) {
    const std::filesystem::path file = file_after_use();
    EXPECT_GE(std::filesystem::file_size(file), 24u + sizeof(VkPipelineCacheHeaderVersionOne));
    const auto written = std::filesystem::last_write_time(file);
    EXPECT_EQ(file_after_use(), file);
    EXPECT_EQ(std::filesystem::last_write_time(file), written) << "nothing new was compiled";
    EXPECT_THAT(log.lines(LogLevel::warning), IsEmpty());
}

TEST_F(PipelineTest, ProcessesThatRunAtTheSameTimeKeepEachOthersPipelines) {
    const auto with_factor = [](std::uint32_t factor) {
        return std::array{kernels::ConstantValue{"factor", factor}};
    };
    {
        const std::shared_ptr<Device> first = open({.self_test = false}), second = open({.self_test = false});
        first->prepare(kernels::test_combine.kernel, with_factor(11));
        second->prepare(kernels::test_combine.kernel, with_factor(12));
        first->save_pipeline_cache();
        second->save_pipeline_cache();
    }
    const std::filesystem::path file = file_after_use();
    const auto bytes = std::filesystem::file_size(file);
    const std::shared_ptr<Device> third = open({.self_test = false});
    third->prepare(kernel);
    third->prepare(kernels::test_combine.kernel, with_factor(11));
    third->prepare(kernels::test_combine.kernel, with_factor(12));
    third->save_pipeline_cache();
    // lavapipe's cache holds no pipelines, so this can fail on GPUs only.
    EXPECT_EQ(std::filesystem::file_size(file), bytes) << "the file had all three";
}

TEST_F(PipelineTest, RemovesFilesThatNoDriverHasUsedForMonths) {
    const std::filesystem::path file = file_after_use();
    const std::filesystem::path unused = file.parent_path() / "0123-1-2-3.bin",
                                recent = file.parent_path() / "4567-1-2-3.bin";
    for (const std::filesystem::path& other : {unused, recent})
        write(other, "of another driver build");
    std::filesystem::last_write_time(unused, std::filesystem::file_time_type::clock::now() -
                                                 std::chrono::hours(24 * 91));
    const std::shared_ptr<Device> device = open({.self_test = false});
    device->prepare(kernels::test_combine.kernel);
    device->save_pipeline_cache();
    EXPECT_FALSE(std::filesystem::exists(unused));
    EXPECT_TRUE(std::filesystem::exists(recent));
}

TEST_F(PipelineTest, RebuildsADamagedCache) {
    const std::filesystem::path file = file_after_use();
    const std::string whole = bytes_of(file);
    std::string flipped = whole;
    flipped.back() = static_cast<char>(flipped.back() ^ 1);
    for (const std::string& damaged : {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() - 1),
                                       flipped, "X" + whole.substr(1), whole + "x"}) {
        write(file, damaged);
        EXPECT_EQ(file_after_use(), file);
        EXPECT_EQ(bytes_of(file).size(), whole.size());
        EXPECT_THAT(log.lines(LogLevel::warning), ElementsAre(HasSubstr("is damaged")));
        log.clear();
    }
}

TEST_F(PipelineTest, DoesNotUseTheCacheOfAnotherDriver) {
    const std::filesystem::path file = file_after_use();
    std::vector<std::byte> other = CacheFile(file, "RKPIPE01").read().value();
    other[offsetof(VkPipelineCacheHeaderVersionOne, pipelineCacheUUID)] ^= std::byte{1};
    CacheFile(file, "RKPIPE01").write(other);
    file_after_use();
    EXPECT_THAT(log.lines(LogLevel::warning), ElementsAre(HasSubstr("belongs to another driver or device")));
    log.clear();
}

TEST_F(PipelineTest, WarnsOnceAboutAFolderThatIsNotWritable) {
    write(cache, "a file where the folder should be");
    {
        const std::shared_ptr<Device> device = open({.self_test = false});
        device->prepare(kernel);
        device->save_pipeline_cache();
        EXPECT_THAT(log.lines(LogLevel::warning), ElementsAre(HasSubstr("pipelines cannot be saved")));
    }
    EXPECT_THAT(log.lines(LogLevel::warning), testing::SizeIs(1));
    log.clear();
}

TEST_F(PipelineTest, StatisticsAreAvailableOnlyOnRequest) {
    EXPECT_THAT([&] { open({.self_test = false})->pipeline_statistics(kernel); },
                ThrowsMessage<Unsupported>(HasSubstr("without DeviceOptions::pipeline_statistics")));
    const std::shared_ptr<Device> device = open({.pipeline_statistics = true, .self_test = false});
    if (internals(*device).enabled().executable_properties) {
        EXPECT_THAT(device->pipeline_statistics(kernel), Not(IsEmpty()));
    } else {
        EXPECT_THAT([&] { device->pipeline_statistics(kernel); },
                    ThrowsMessage<Unsupported>(HasSubstr("reports no pipeline statistics")));
    }
    EXPECT_FALSE(std::filesystem::exists(cache + "/pipelines")) << "what is inspected is always compiled";
}

} // namespace rekindle::runtime::test
