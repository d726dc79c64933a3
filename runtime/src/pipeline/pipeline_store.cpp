#include "pipeline/pipeline_store.h"

#include "device/vulkan_structure.h"
#include "pipeline/specialized_module.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ranges>
#include <thread>
#include <utility>

namespace rekindle::runtime {

namespace {

constexpr std::string_view cache_kind = "RKPIPE01";
/// A cache file beyond this size is replaced, because drivers never remove anything from it.
constexpr std::size_t largest_cache = std::size_t{256} << 20;
/// Files of earlier driver builds are removed after this time.
constexpr std::chrono::hours kept_unused(24 * 90);
constexpr std::chrono::seconds
    longest_wait(5); // when a program ends while another process saves its pipelines

std::string text_of(const kernels::Kernel& kernel, std::span<const std::uint32_t> values) {
    std::string text(kernel.name);
    for (std::size_t i = 0; i < values.size(); ++i)
        text += (i == 0 ? " (" : ", ") + std::string(kernel.constants[i].name) + " = " +
                std::to_string(values[i]);
    return values.empty() ? text : text + ")";
}

/// REKINDLE_COMPILE_THREADS, by default one for each CPU that the process may use.
std::size_t compile_threads() {
    constexpr unsigned most = 64;
    const char* const text = std::getenv("REKINDLE_COMPILE_THREADS");
    if (text == nullptr || *text == '\0')
        return std::clamp(std::thread::hardware_concurrency(), 1u, most);
    unsigned value = 0;
    const char* const end = text + std::strlen(text);
    if (const auto read = std::from_chars(text, end, value);
        read.ec != std::errc{} || read.ptr != end || value > most)
        throw Error("REKINDLE_COMPILE_THREADS=" + std::string(text) +
                    " is invalid; expected a number from 0 to " + std::to_string(most) +
                    "; with 0, a kernel is compiled when it is first launched");
    return value;
}

} // namespace

PipelineStore::PipelineStore(VulkanDevice& device, const std::filesystem::path& folder)
    : device_(device), progress_(device.options().compile_progress) {
    if (const std::size_t threads = compile_threads(); threads > 0)
        queue_.emplace(threads);
    if (!folder.empty())
        file_.emplace(folder / "pipelines" / file_name_of(device.info()), cache_kind);
    const std::vector<std::byte> data = load_cache();
    file_bytes_ = data.size();
    cache_ = make_cache(data);
}

PipelineStore::~PipelineStore() {
    queue_.reset();
    save();
    const VolkDeviceTable& vk = device_.vk();
    for (const Pipeline& pipeline : std::views::values(pipelines_))
        vk.vkDestroyPipeline(device_.handle(), pipeline.handle, nullptr);
    vk.vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
}

const Pipeline& PipelineStore::get(const kernels::Kernel& kernel,
                                   std::span<const kernels::ConstantValue> constants) {
    const Pipeline& pipeline = find_or_add(kernel, constants).first;
    complete(pipeline);
    return pipeline;
}

const Pipeline& PipelineStore::request(const kernels::Kernel& kernel,
                                       std::span<const kernels::ConstantValue> constants) {
    const auto [pipeline, added] = find_or_add(kernel, constants);
    if (added && queue_)
        queue_->add([this, &pipeline = pipeline] {
            try {
                complete(pipeline);
            } catch (const std::exception&) { // the thread that needs the pipeline calls complete() again
            }
        });
    return pipeline;
}

void PipelineStore::complete(const Pipeline& pipeline) {
    if (pipeline.ready())
        return;
    // Before the lock: this can block while the process exits, and exit waits for threads that take the lock.
    device_.throw_if_lost();
    pipeline.compiled([&] {
        struct Ended {
            CompileProgress& progress;
            ~Ended() { progress.ended(CompileProgress::Clock::now()); }
        };
        const Ended ended{progress_};
        pipeline.handle.store(compile(*pipeline.kernel, pipeline.identity->values),
                              std::memory_order_release);
    });
}

bool PipelineStore::stop_compiling(std::chrono::steady_clock::time_point until) noexcept {
    return !queue_ || queue_->stop(until);
}

/// References to elements of an unordered_map stay valid while others are added.
std::pair<const Pipeline&, bool>
PipelineStore::find_or_add(const kernels::Kernel& kernel, std::span<const kernels::ConstantValue> constants) {
    device_.throw_if_lost();
    PipelineIdentity identity(kernel, constants);
    {
        const std::shared_lock lock(mutex_);
        if (const auto known = pipelines_.find(identity); known != pipelines_.end())
            return {known->second, false};
    }
    require_features(kernel);
    static_cast<void>(required_subgroup(kernel, identity.values));
    const std::lock_guard lock(mutex_);
    const auto [entry, added] = pipelines_.try_emplace(std::move(identity));
    if (added) {
        entry->second.kernel = &kernel;
        entry->second.device = &device_;
        entry->second.identity = &entry->first;
        entry->second.number = static_cast<std::uint32_t>(pipelines_.size() - 1);
        progress_.requested(CompileProgress::Clock::now());
    }
    return {entry->second, added};
}

void PipelineStore::require_features(const kernels::Kernel& kernel) const {
    const kernels::Features lacking = kernel.needs.without(device_.usable_features());
    if (!lacking.empty()) {
        std::string names;
        for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
            if ((lacking.bits() & bit) != 0)
                names += (names.empty() ? "" : ", ") + std::string(name(static_cast<kernels::Feature>(bit)));
        throw Unsupported("kernel " + std::string(kernel.name) + " needs " + names + ", which " +
                          device_.info().name + " lacks or computes incorrectly");
    }
    if (kernel.threads > device_.info().can.maximum_threads)
        throw Unsupported("kernel " + std::string(kernel.name) + " needs workgroups of " +
                          std::to_string(kernel.threads) + " threads; " + device_.info().name + " allows " +
                          std::to_string(device_.info().can.maximum_threads));
    if (kernel.parameter_bytes > 128)
        throw Error("kernel " + std::string(kernel.name) + " has more than 128 bytes of parameters");
}

std::shared_ptr<VkShaderModule_T> PipelineStore::module_of(const kernels::Kernel& kernel,
                                                           std::span<const std::uint32_t> values) {
    const std::vector<std::uint32_t> words = specialized_module(kernel, values);
    auto info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    info.codeSize = words.size() * sizeof(std::uint32_t);
    info.pCode = words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    device_.check(device_.vk().vkCreateShaderModule(device_.handle(), &info, nullptr, &module),
                  "vkCreateShaderModule of " + std::string(kernel.family));
    return {module, [this](VkShaderModule made) {
                device_.vk().vkDestroyShaderModule(device_.handle(), made, nullptr);
            }};
}

std::uint32_t PipelineStore::required_subgroup(const kernels::Kernel& kernel,
                                               std::span<const std::uint32_t> values) const {
    const auto constants = kernel.constants;
    const auto found =
        std::ranges::find(constants, subgroup_size_constant, &kernels::SpecializationConstant::name);
    if (found == constants.end() || !kernel.needs.contains(kernels::Feature::subgroup_size_control))
        return 0;
    const std::uint32_t size = values[static_cast<std::size_t>(found - constants.begin())];
    const Capabilities& can = device_.info().can;
    if (size != 0 && (size < can.minimum_subgroup || size > can.maximum_subgroup || (size & (size - 1)) != 0))
        throw Unsupported("kernel " + std::string(kernel.name) + " requires subgroups of " +
                          std::to_string(size) + "; " + device_.info().name + " has " +
                          std::to_string(can.minimum_subgroup) + " to " +
                          std::to_string(can.maximum_subgroup));
    return size;
}

VkPipeline PipelineStore::compile(const kernels::Kernel& kernel, std::span<const std::uint32_t> values) {
    const std::string entry(kernel.name);
    auto subgroup = structure<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    subgroup.requiredSubgroupSize = required_subgroup(kernel, values);

    auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.layout = device_.pipeline_layout();
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    const auto module = module_of(kernel, values);
    info.stage.module = module.get();
    info.stage.pName = entry.c_str();
    if (subgroup.requiredSubgroupSize != 0) {
        info.stage.pNext = &subgroup;
        if (kernel.threads % subgroup.requiredSubgroupSize == 0)
            info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    if (device_.enabled().executable_properties)
        info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    if (device_.inject(TestMode::Fault::refused_kernel))
        throw Error("the driver refuses " + text_of(kernel, values) + " because REKINDLE_FAULT requested it");
    const auto begin = std::chrono::steady_clock::now();
    VkPipeline pipeline = VK_NULL_HANDLE;
    device_.check(
        device_.vk().vkCreateComputePipelines(device_.handle(), cache_, 1, &info, nullptr, &pipeline),
        "vkCreateComputePipelines of " + text_of(kernel, values));
    ++compiled_;
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    device_.log(LogLevel::debug, "compiled " + text_of(kernel, values) + " in " +
                                     std::to_string(milliseconds.count()) + " ms");
    return pipeline;
}

std::vector<PipelineStatistic> PipelineStore::statistics(const Pipeline& pipeline) const {
    const VolkDeviceTable& vk = device_.vk();
    auto of = structure<VkPipelineInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR);
    of.pipeline = pipeline.handle.load();
    std::uint32_t count = 0;
    device_.check(vk.vkGetPipelineExecutablePropertiesKHR(device_.handle(), &of, &count, nullptr),
                  "vkGetPipelineExecutablePropertiesKHR");
    std::vector<VkPipelineExecutablePropertiesKHR> executables(
        count,
        structure<VkPipelineExecutablePropertiesKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR));
    device_.check(vk.vkGetPipelineExecutablePropertiesKHR(device_.handle(), &of, &count, executables.data()),
                  "vkGetPipelineExecutablePropertiesKHR");
    std::vector<PipelineStatistic> result;
    for (std::uint32_t i = 0; i < count; ++i) {
        result.push_back({executables[i].name, "subgroupSize", executables[i].subgroupSize});
        auto which = structure<VkPipelineExecutableInfoKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR);
        which.pipeline = pipeline.handle;
        which.executableIndex = i;
        std::uint32_t figures = 0;
        device_.check(vk.vkGetPipelineExecutableStatisticsKHR(device_.handle(), &which, &figures, nullptr),
                      "vkGetPipelineExecutableStatisticsKHR");
        std::vector<VkPipelineExecutableStatisticKHR> list(
            figures,
            structure<VkPipelineExecutableStatisticKHR>(VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR));
        device_.check(
            vk.vkGetPipelineExecutableStatisticsKHR(device_.handle(), &which, &figures, list.data()),
            "vkGetPipelineExecutableStatisticsKHR");
        for (const VkPipelineExecutableStatisticKHR& figure : list)
            result.push_back({executables[i].name, figure.name,
                              figure.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR
                                  ? static_cast<std::uint64_t>(figure.value.f64)
                                  : figure.value.u64});
    }
    return result;
}

std::vector<std::byte> PipelineStore::load_cache() {
    if (!file_)
        return {};
    try {
        file_written_ = file_->written();
        std::vector<std::byte> data = file_->read().value_or(std::vector<std::byte>{});
        if (data.size() > largest_cache)
            return {};
        if (data.empty() || fits_device(data))
            return data;
        device_.log(LogLevel::warning, "pipeline cache " + file_->path().string() +
                                           " belongs to another driver or device; it is rebuilt");
    } catch (const Error& error) {
        device_.log(LogLevel::warning, std::string("pipeline cache: ") + error.what() + "; it is rebuilt");
    }
    return {};
}

bool PipelineStore::fits_device(std::span<const std::byte> data) const {
    VkPipelineCacheHeaderVersionOne header{};
    if (data.size() < sizeof header)
        return false;
    std::memcpy(&header, data.data(), sizeof header);
    const DeviceInfo& info = device_.info();
    return header.headerSize >= sizeof header && header.headerSize <= data.size() &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           header.vendorID == info.vendor_id && header.deviceID == info.device_id &&
           std::ranges::equal(std::span(header.pipelineCacheUUID), info.pipeline_cache_uuid);
}

VkPipelineCache PipelineStore::make_cache(std::span<const std::byte> data) {
    auto create = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
    create.initialDataSize = data.size();
    create.pInitialData = data.data();
    VkPipelineCache cache = VK_NULL_HANDLE;
    device_.check(device_.vk().vkCreatePipelineCache(device_.handle(), &create, nullptr, &cache),
                  "vkCreatePipelineCache");
    return cache;
}

std::vector<std::byte> PipelineStore::data_to_save() {
    const VolkDeviceTable& vk = device_.vk();
    const auto contents = [&](VkPipelineCache cache) {
        std::size_t size = 0;
        device_.check(vk.vkGetPipelineCacheData(device_.handle(), cache, &size, nullptr),
                      "vkGetPipelineCacheData");
        std::vector<std::byte> data(size);
        device_.check(vk.vkGetPipelineCacheData(device_.handle(), cache, &size, data.data()),
                      "vkGetPipelineCacheData");
        data.resize(size);
        return data;
    };
    if (!file_->written() || file_->written() == file_written_)
        return contents(cache_);
    const std::shared_ptr<VkPipelineCache_T> all(make_cache(load_cache()), [&](VkPipelineCache made) {
        vk.vkDestroyPipelineCache(device_.handle(), made, nullptr);
    });
    // Merges into the new cache, not into cache_, because other threads may be compiling into cache_.
    device_.check(vk.vkMergePipelineCaches(device_.handle(), all.get(), 1, &cache_), "vkMergePipelineCaches");
    return contents(all.get());
}

void PipelineStore::save() noexcept {
    const std::lock_guard lock(save_mutex_);
    const std::uint64_t compiled = compiled_.load();
    if (!file_ || compiled == saved_ || device_.lost())
        return;
    try {
        const FileLock others_wait = file_->lock(longest_wait);
        const std::vector<std::byte> data = data_to_save();
        if (data.size() != file_bytes_) { // otherwise everything came from the file
            file_->write(data);
        } else {
            file_->touch();
        }
        file_->remove_unused(kept_unused);
        file_written_ = file_->written();
        file_bytes_ = data.size();
        saved_ = compiled;
    } catch (const std::exception& error) {
        device_.log(LogLevel::warning, std::string("pipelines cannot be saved: ") + error.what());
        file_.reset(); // logged once
    }
}

} // namespace rekindle::runtime
