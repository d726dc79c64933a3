#include "interruption.h"

#include <rekindle/base/error.h>

#include <atomic>
#include <unistd.h>

namespace rekindle::cli {

namespace {

/// A signal handler gets no argument of ours: the token it asks must be reachable from here.
std::atomic<CancellationToken*> asked_token{
    nullptr}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<CancellationToken*>::is_always_lock_free);

extern "C" void rekindle_interrupt(int) {
    CancellationToken* token = asked_token.load();
    if (token == nullptr || token->requested())
        _exit(static_cast<int>(ExitStatus::interrupted));
    token->request();
}

} // namespace

InterruptionGuard::InterruptionGuard(CancellationToken& token) {
    asked_token.store(&token);
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
    asked_token.store(nullptr);
}

} // namespace rekindle::cli
