#include "python_calls.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <vector>

namespace rvk::distributed {

namespace {

std::string call(const char* name, torch::jit::Stack stack) {
    c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
    return stack.back().toStringRef();
}

std::vector<at::Tensor> list_of(Tensors tensors) {
    return {tensors.begin(), tensors.end()};
}

} // namespace

std::string connect_in_python(std::int64_t group, double timeout) {
    return call("rvk::connect_group", {group, timeout});
}

std::string run_in_python(std::int64_t group, const Operation& operation, Staging& staging,
                          const CallBetweenHosts& each) {
    return call("rvk::collective_between_hosts",
                {group, std::string(each.collective), operation.what, operation.timeout,
                 c10::intrusive_ptr<Staging>::reclaim_copy(&staging), list_of(each.outputs),
                 list_of(each.inputs), static_cast<std::int64_t>(each.root),
                 static_cast<std::int64_t>(each.reduction.kind), each.reduction.factor});
}

} // namespace rvk::distributed
