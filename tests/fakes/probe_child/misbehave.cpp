#include "misbehave.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <map>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rekindle::test {

namespace {

constexpr int results = 3;

int write_all(int descriptor, std::string_view text) {
    return ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}

[[noreturn]] void sleep_for_ever() {
    for (;;)
        ::pause();
}

int ignore_sigterm(const std::string&) {
    ::signal(SIGTERM, SIG_IGN);
    write_all(results, "ready\n");
    sleep_for_ever();
}

/// A grandchild in the same group keeps the pipes open and outlives its parent.
int leave_straggler(const std::string&) {
    const pid_t straggler = ::fork();
    if (straggler == 0)
        sleep_for_ever();
    return write_all(results, std::to_string(straggler) + "\n");
}

int flood(const std::string& argument) {
    const std::string block(65536, 'x');
    const int descriptor = argument == "results" ? results : STDERR_FILENO;
    while (write_all(descriptor, block) == 0) {
    }
    return 1;
}

/// 100,000 numbered lines on standard error, the last one "line 99999", and bytes that are not UTF-8.
int write_much(const std::string&) {
    for (int i = 0; i < 100000; ++i)
        std::fprintf(stderr, "line %d\n", i);
    std::fprintf(stderr, "\xff\x1b[31m\xc3\xa4\n");
    return 0;
}

/// Its open descriptors, its core dump limit, its process group and whether it leads the group.
int describe_itself(const std::string&) {
    std::string text = "descriptors:";
    DIR* folder = ::opendir("/proc/self/fd");
    const int own = ::dirfd(folder);
    std::map<int, bool> descriptors;
    while (const dirent* entry = ::readdir(folder))
        if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != own)
            descriptors[std::atoi(entry->d_name)] = true;
    ::closedir(folder);
    for (const auto& [descriptor, open] : descriptors)
        text += " " + std::to_string(descriptor);
    rlimit core{};
    ::getrlimit(RLIMIT_CORE, &core);
    text += "\ncore: " + std::to_string(core.rlim_cur);
    text += std::string("\nleader: ") + (::getpgrp() == ::getpid() ? "yes" : "no");
    text += std::string("\ninput: ");
    std::array<char, 64> input{};
    const ssize_t count = ::read(STDIN_FILENO, input.data(), input.size());
    text.append(input.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    const char* variable = std::getenv("REKINDLE_TEST_VARIABLE");
    text += std::string("\nvariable: ") + (variable != nullptr ? variable : "absent") + "\n";
    return write_all(results, text);
}

/// To its parent it looks like a process that SIGKILL does not end: a tracer outside its group keeps its
/// end from being reported. Exit status 77 where tracing is not allowed.
int pretend_unkillable(const std::string& argument) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0)
        return 1;
    const pid_t traced = ::getpid();
    if (::fork() == 0) {
        ::setsid();
        const bool seized = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0;
        write_all(pipe[1], seized ? "y" : "n");
        for (int descriptor = 0; descriptor <= results; ++descriptor)
            ::close(descriptor);
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argument.c_str())));
        ::_exit(0);
    }
    char answer = 'n';
    if (::read(pipe[0], &answer, 1) != 1 || answer != 'y')
        return 77;
    write_all(results, "ready\n");
    sleep_for_ever();
}

int write_steps(const std::string&) {
    for (int i = 0; i < 6; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        write_all(results, "step\n");
    }
    sleep_for_ever();
}

int abort_at_once(const std::string&) {
    std::abort();
}

int exit_with(const std::string& argument) {
    return std::atoi(argument.c_str());
}

} // namespace

int misbehave(std::string_view how, const std::string& argument) {
    static const std::map<std::string_view, int (*)(const std::string&)> kinds{
        {"ignore-sigterm", ignore_sigterm},
        {"straggler", leave_straggler},
        {"flood", flood},
        {"much", write_much},
        {"describe", describe_itself},
        {"unkillable", pretend_unkillable},
        {"steps", write_steps},
        {"abort", abort_at_once},
        {"exit", exit_with},
    };
    const auto kind = kinds.find(how);
    return kind == kinds.end() ? 2 : kind->second(argument);
}

} // namespace rekindle::test
