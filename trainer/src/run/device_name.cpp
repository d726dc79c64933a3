#include "device.h"

#include <rekindle/base/error.h>
#include <rekindle/base/text.h>
#include <rekindle/trainer/device_name.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace rekindle::trainer {

namespace {

using Kind = DeviceName::Kind;

constexpr const char* expected_names = "auto, cpu, gpu, gpu:N, cuda:N or a UUID";
constexpr std::array gpu_words{"gpu", "cuda", "hip", "rocm", "vulkan", "rvk"};
/// Prefixes of the addresses that `rekindle devices` prints, whose numbers count CPU drivers too.
constexpr std::array address_words{"gpu", "vulkan", "rvk"};
constexpr std::array other_systems{"mps",           "metal", "xpu",      "sycl", "opencl", "dml",  "directml",
                                   "privateuseone", "tpu",   "xla",      "npu",  "hpu",    "mtia", "maia",
                                   "ipu",           "ort",   "tensorrt", "meta", "mkldnn", "vpu",  "neuron"};
constexpr std::array vendors{"nvidia", "amd", "radeon", "intel", "apple", "ati"};
constexpr std::array cpu_drivers{"llvmpipe", "lavapipe", "swiftshader"};

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

template <class Words>
bool holds_word(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Device numbers have 16 bits: a larger number is a typing mistake.
std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint16_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

/// 8-4-4-4-12 hexadecimal digits, with or without "gpu-" before them.
bool is_uuid(std::string_view text) {
    if (text.starts_with("gpu-"))
        text.remove_prefix(4);
    if (text.size() != 36)
        return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen ? text[i] != '-'
                   : std::string_view("0123456789abcdef").find(text[i]) == std::string_view::npos)
            return false;
    }
    return true;
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
    if (holds_word(gpu_words, system))
        return fmt::format("Put a number after the colon, as in {}:0.", system);
    std::string_view letters = word.substr(0, word.find_first_of("0123456789"));
    if (holds_word(gpu_words, letters) && letters.size() < word.size() &&
        number_in(word.substr(letters.size())))
        return fmt::format("Did you mean {}:{}?", letters, word.substr(letters.size()));
    if (const auto near = nearest_word(word, {"auto", "cpu", "gpu", "cuda", "rocm", "vulkan"}); !near.empty())
        return fmt::format("Did you mean {}?", near);
    return "rekindle devices lists the devices of this machine.";
}

} // namespace

DeviceName parse_device_name(std::string_view written) {
    const std::string word = lower(trim(written));
    const std::size_t colon = word.find(':');
    const std::string system = word.substr(0, colon);
    const auto suffix =
        colon == std::string::npos ? std::nullopt : number_in(std::string_view(word).substr(colon + 1));
    const std::uint32_t number = suffix.value_or(0);
    if (word == "auto")
        return {Kind::automatic, 0, false, word};
    if (word == "cpu" || word == "cpu:0")
        return {Kind::cpu, 0, false, "cpu"};
    if (holds_word(gpu_words, word))
        return {Kind::any_gpu, 0, true, "gpu"};
    if (holds_word(address_words, system) && suffix)
        return {Kind::number, number, false, fmt::format("gpu:{}", number)};
    if (holds_word(gpu_words, system) && suffix)
        return {Kind::number, number, true, fmt::format("{}:{}", system, number)};
    if (const auto plain = number_in(word))
        return {Kind::number, *plain, true, fmt::format("cuda:{}", *plain)};
    if (is_uuid(word))
        return {Kind::uuid, 0, false, word};
    throw usage_error(word.empty() ? "no device given" : fmt::format("\"{}\" is not a device", written))
        .at("--device")
        .expected(expected_names)
        .hint(advice_for(word));
}

runtime::DeviceInfo find_device(const DeviceName& name) {
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
        if (name.kind == Kind::uuid)
            return runtime::select_device(name.text);
        if (name.kind == Kind::number) {
            const auto info = runtime::select_device(fmt::format("gpu:{}", name.number));
            if (name.must_be_gpu && info.type == runtime::DeviceType::cpu)
                refuse_cpu_driver(info);
            return info;
        }
        // The devices are in order: GPUs before CPU drivers.
        const runtime::DeviceInfo first = runtime::select_device("gpu");
        if (first.type == runtime::DeviceType::cpu)
            refuse_cpu_driver(first);
        return first;
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
