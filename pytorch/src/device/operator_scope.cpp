#include "operator_scope.h"

#include <rekindle/foundation/environment.h>
#include <rekindle/runtime/stream.h>

#include <c10/util/Exception.h>

namespace rvk {

namespace {
thread_local const char* running = nullptr;
thread_local bool allowed = false;
} // namespace

bool strict() noexcept {
    static const bool on = rekindle::switched_on("REKINDLE_STRICT");
    return on;
}

OperatorScope::OperatorScope(const char* name) noexcept : outer_(running) {
    if (running)
        return;
    running = name;
    rekindle::runtime::Stream::set_operation(name);
}
OperatorScope::~OperatorScope() {
    running = outer_;
    if (!running)
        rekindle::runtime::Stream::set_operation(nullptr);
}

const char* running_operator() noexcept {
    return running ? running : "";
}

AllowCopyToHost::AllowCopyToHost(const char*) noexcept : before_(allowed) {
    allowed = true;
}
AllowCopyToHost::~AllowCopyToHost() {
    allowed = before_;
}

void check_copy_to_host(std::size_t bytes) {
    TORCH_CHECK(!strict() || !running || allowed, "REKINDLE_STRICT=1: the operator ", running ? running : "",
                " copied from the device to the host (size in bytes: ", bytes,
                ") without declaring it (AllowCopyToHost).");
}

} // namespace rvk
