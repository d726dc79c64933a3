#include "interruption.h"

#include <rekindle/foundation/error.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <unistd.h>

namespace rekindle::cli {

namespace {

/// A signal handler takes no user data, so it must find the token in a global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<CancellationToken*> guarded_token{nullptr};
static_assert(std::atomic<CancellationToken*>::is_always_lock_free);

std::atomic<std::int64_t> requested_at{0}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// timeout, make and process managers signal a program and then its whole group: one request, two signals.
constexpr std::int64_t same_request_ms = 500;

std::int64_t monotonic_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

extern "C" void rekindle_interrupt(int) {
    CancellationToken* token = guarded_token.load();
    if (token == nullptr || (token->requested() && monotonic_ms() - requested_at.load() > same_request_ms))
        _exit(static_cast<int>(ExitStatus::interrupted));
    if (token->requested())
        return;
    requested_at.store(monotonic_ms());
    token->request();
}

} // namespace

InterruptionGuard::InterruptionGuard(CancellationToken& token) {
    guarded_token.store(&token);
    struct sigaction action {};
    action.sa_handler = rekindle_interrupt;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptionGuard::~InterruptionGuard() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
    guarded_token.store(nullptr);
}

} // namespace rekindle::cli
