#include "behavior.h"

namespace {
int communicator;
}

FAKE_DRIVER const char* ncclGetErrorString(int status) {
    return status == 2 ? "unhandled system error" : "internal error";
}

FAKE_DRIVER int ncclGetVersion(int* version) {
    *version = 22005;
    return fake_driver::behave("ncclGetVersion");
}

FAKE_DRIVER int ncclCommInitAll(void** communicators, int count, const int*) {
    for (int i = 0; i < count; ++i)
        communicators[i] = &communicator;
    return fake_driver::behave("ncclCommInitAll");
}

FAKE_DRIVER int ncclCommDestroy(void*) {
    return fake_driver::behave("ncclCommDestroy");
}
