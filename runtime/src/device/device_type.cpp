#include <rekindle/runtime/device.h>
#include <rekindle/runtime/self_test.h>
#include <rekindle/runtime/stream.h>
#include <rekindle/runtime/test_mode.h>

namespace rekindle::runtime {

std::string_view name(DeviceType type) noexcept {
    switch (type) {
    case DeviceType::discrete:
        return "discrete";
    case DeviceType::integrated:
        return "integrated";
    case DeviceType::virtual_gpu:
        return "virtual";
    case DeviceType::cpu:
        return "cpu";
    case DeviceType::other:
        break;
    }
    return "other";
}

} // namespace rekindle::runtime
