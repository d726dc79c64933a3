#include "vulkan_device.h"

// Weak stand-ins that the parts' own definitions replace; they go with this file once those are there.
namespace rekindle::runtime {

[[gnu::weak]] std::unique_ptr<Stream> make_stream(VulkanDevice&) {
    throw Unsupported("this build has no streams");
}

[[gnu::weak]] std::shared_ptr<StreamTimeline> timeline_of(Stream&) {
    throw Unsupported("this build has no streams");
}

[[gnu::weak]] std::unique_ptr<Profiler> make_profiler(VulkanDevice&) {
    throw Unsupported("this build has no profiler");
}

} // namespace rekindle::runtime
