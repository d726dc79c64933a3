#include <rekindle/runtime/device_selector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using rekindle::runtime::DeviceSelector;

namespace {

bool same(const DeviceSelector& one, const DeviceSelector& other) {
    return one.kind == other.kind && one.number == other.number && one.must_be_gpu == other.must_be_gpu &&
           one.text == other.text;
}

void read_device(std::string_view written) {
    const auto selector = DeviceSelector::parse(written);
    if (selector) {
        const auto again = DeviceSelector::parse(selector->text);
        if (!again || !same(*again, *selector))
            __builtin_trap(); // its own spelling must mean the same
    }
    const auto entry = DeviceSelector::parse_number_or_uuid(written);
    if (entry && (!selector || !same(*entry, *selector)))
        __builtin_trap(); // an entry of a list means what it means alone
}

void read_numbers(std::string_view written) {
    const auto numbers = DeviceSelector::parse_numbers(written);
    if (!numbers)
        return;
    std::string list;
    for (const std::uint32_t number : *numbers) {
        if (number > UINT16_MAX)
            __builtin_trap(); // device numbers have 16 bits
        list += (list.empty() ? "" : ",") + std::to_string(number);
    }
    if (DeviceSelector::parse_numbers(list) != numbers)
        __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view written(reinterpret_cast<const char*>(data), size);
    read_device(written);
    read_numbers(written);
    return 0;
}
