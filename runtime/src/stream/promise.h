#pragma once
/// Events that work queued later will reach. Private to the library.

#include <rekindle/runtime/stream.h>

#include <memory>

namespace rekindle::runtime {

class VulkanDevice;

std::unique_ptr<Promise> make_promise(VulkanDevice& device);
std::unique_ptr<PromiseSequence> make_promise_sequence(VulkanDevice& device);

} // namespace rekindle::runtime
