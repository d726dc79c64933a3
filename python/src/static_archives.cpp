/// Distributions compile static archives for programs. That code reaches two variables of the C library at a
/// fixed distance, which is impossible in a shared library, so the linker (--wrap) makes the archives use the
/// module's variables below instead.

#include <cstdio>

extern "C" {

extern FILE* __real_stderr;
FILE* __wrap_stderr = __real_stderr;
/// 0: the process may have several threads, which is always safe to assume.
char __wrap___libc_single_threaded = 0;
}
