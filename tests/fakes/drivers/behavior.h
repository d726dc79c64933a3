#pragma once
/// How the fake libraries misbehave. REKINDLE_FAKE_DRIVER="hipInit=100 hipblasCreate=hang" says what a
/// function does instead of succeeding: a number is returned as its status; hang, crash, abort, exit and
/// flood never return; "wrong" is interpreted by the function itself. REKINDLE_FAKE_DEVICES is the number
/// of GPUs (2).

namespace fake_driver {

/// The status that `function` must return, 0 for success. May not return.
int behave(const char* function);
/// Whether `function` must give a wrong answer.
bool wrong(const char* function);
int device_count();

} // namespace fake_driver

#define FAKE_DRIVER extern "C" __attribute__((visibility("default")))
