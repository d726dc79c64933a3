#include "behavior.h"

#include <cstddef>
#include <cstring>

namespace {
int program_object;
constexpr const char log[] = "vector_add.hip:1:1: error: made up";
constexpr const char code[] = "no code";
} // namespace

FAKE_DRIVER const char* hiprtcGetErrorString(int status) {
    return status == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_INTERNAL_ERROR";
}

FAKE_DRIVER int hiprtcCreateProgram(void** program, const char*, const char*, int, const char**,
                                    const char**) {
    *program = &program_object;
    return fake_driver::behave("hiprtcCreateProgram");
}

FAKE_DRIVER int hiprtcCompileProgram(void*, int, const char**) {
    return fake_driver::behave("hiprtcCompileProgram");
}

FAKE_DRIVER int hiprtcGetProgramLogSize(void*, std::size_t* size) {
    *size = sizeof log;
    return 0;
}

FAKE_DRIVER int hiprtcGetProgramLog(void*, char* text) {
    std::memcpy(text, log, sizeof log);
    return 0;
}

FAKE_DRIVER int hiprtcGetCodeSize(void*, std::size_t* size) {
    *size = sizeof code;
    return 0;
}

FAKE_DRIVER int hiprtcGetCode(void*, char* bytes) {
    std::memcpy(bytes, code, sizeof code);
    return fake_driver::behave("hiprtcGetCode");
}

FAKE_DRIVER int hiprtcDestroyProgram(void** program) {
    *program = nullptr;
    return 0;
}
