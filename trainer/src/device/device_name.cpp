#include <rekindle/base/text.h>
#include <rekindle/foundation/error.h>
#include <rekindle/trainer/device_name.h>
#include <rekindle/trainer/runtime_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rekindle::trainer {

namespace {

using runtime::DeviceSelector;
using Kind = DeviceSelector::Kind;

constexpr const char* expected_names = "auto, cpu, gpu, gpu:N, cuda:N or a UUID";
constexpr std::array other_systems{"mps",           "metal", "xpu",      "sycl", "opencl", "dml",  "directml",
                                   "privateuseone", "tpu",   "xla",      "npu",  "hpu",    "mtia", "maia",
                                   "ipu",           "ort",   "tensorrt", "meta", "mkldnn", "vpu",  "neuron"};
constexpr std::array vendors{"nvidia", "amd", "radeon", "intel", "apple", "ati"};
constexpr std::array cpu_drivers{"llvmpipe", "lavapipe", "swiftshader"};

template <class Words>
bool holds_word(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool means_any_gpu(std::string_view word) {
    const auto selector = DeviceSelector::parse(word);
    return selector && selector->kind == Kind::any_gpu && trim(word) == word;
}

std::string advice_for(std::string_view word) {
    const std::string_view system = word.substr(0, word.find(':'));
    if (word.find(',') != std::string_view::npos)
        return "For several GPUs, use --device gpu --device-ids 0,1 (with --population).";
    if (holds_word(other_systems, system))
        return fmt::format("{} is a device of other software. Rekindle uses a GPU of any vendor through its "
                           "Vulkan driver: --device gpu.",
                           system);
    if (holds_word(vendors, system))
        return "rekindle devices lists the GPUs by number; --device gpu uses the first.";
    if (holds_word(cpu_drivers, system))
        return "Name a CPU driver by its address, which rekindle devices prints.";
    if (word.starts_with('-'))
        return "The CPU is --device cpu.";
    if (system == "cpu")
        return "There is one CPU device: --device cpu. --threads limits its threads.";
    if (means_any_gpu(system))
        return fmt::format("Put a number after the colon, as in {}:0.", system);
    std::string_view letters = word.substr(0, word.find_first_of("0123456789"));
    if (means_any_gpu(letters) && letters.size() < word.size() &&
        DeviceSelector::parse_number(word.substr(letters.size())))
        return fmt::format("Did you mean {}:{}?", letters, word.substr(letters.size()));
    if (const auto near = nearest_word(word, {"auto", "cpu", "gpu", "cuda", "rocm", "vulkan"}); !near.empty())
        return fmt::format("Did you mean {}?", near);
    return "rekindle devices lists the devices of this machine.";
}

} // namespace

DeviceSelector parse_device_name(std::string_view written) {
    if (auto selector = DeviceSelector::parse(written))
        return std::move(*selector);
    const std::string word = lower_case(trim(written));
    throw usage_error(word.empty() ? "no device given" : fmt::format("\"{}\" is not a device", written))
        .at("--device")
        .expected(expected_names)
        .hint(advice_for(word));
}

std::vector<std::uint32_t> parse_device_ids(std::string_view list) {
    std::vector<std::uint32_t> ids;
    if (list.empty())
        return ids;
    const auto numbers = DeviceSelector::parse_numbers(list);
    if (!numbers)
        throw usage_error(fmt::format("\"{}\" is not a list of devices", list))
            .at("--device-ids")
            .expected("numbers such as 0 or 0,1");
    for (const std::uint32_t number : *numbers)
        if (std::find(ids.begin(), ids.end(), number) == ids.end())
            ids.push_back(number);
    return ids;
}

runtime::DeviceInfo find_device(const DeviceSelector& name) {
    const auto refuse_cpu_driver = [&](const runtime::DeviceInfo& info) {
        throw usage_error(
            name.kind == Kind::any_gpu
                ? fmt::format("there is no GPU here, only the CPU driver {} ({})", info.address(), info.name)
                : fmt::format("--device {} asks for a GPU, but {} is only the CPU driver {}", name.text,
                              info.address(), info.name))
            .at("--device")
            .hint(fmt::format(
                "{} A CPU driver is many times slower than --device cpu; --device {} uses it anyway.",
                doctor_hint, info.address()));
    };
    try {
        // The devices are in order: GPUs before CPU drivers.
        runtime::DeviceInfo info = runtime::select_device(name);
        if (name.must_be_gpu && info.type == runtime::DeviceType::cpu)
            refuse_cpu_driver(info);
        return info;
    } catch (const runtime::Error& error) {
        throw_as_error(error, "--device");
    }
}

std::string cpu_driver_warning(const runtime::DeviceInfo& info) {
    if (info.type != runtime::DeviceType::cpu)
        return {};
    return fmt::format("{} is {}, a CPU driver and not a GPU: --device cpu is many times faster",
                       info.address(), info.name);
}

} // namespace rekindle::trainer
