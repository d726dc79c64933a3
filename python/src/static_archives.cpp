/// Distributions compile static archives for programs, which reach two variables of the C library by their
/// distance; a shared library cannot, so the linker (--wrap) makes the archives use these variables of the
/// module instead.

#include <cstdio>

extern "C" {

extern FILE* __real_stderr;
FILE* __wrap_stderr = __real_stderr;
/// 0: the process may have several threads, which is always a safe answer.
char __wrap___libc_single_threaded = 0;
}
