#include "probes/start_child.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace rekindle::doctor {

namespace {

/// Above the child's own descriptors, so that assigning those overwrites none.
constexpr int first_own_descriptor = 16;
constexpr int cannot_start = 127;

struct Pipe {
    FileDescriptor reading;
    FileDescriptor writing;
};

FileDescriptor moved_up(int descriptor) {
    const FileDescriptor low(descriptor);
    return FileDescriptor(::fcntl(low.get(), F_DUPFD_CLOEXEC, first_own_descriptor));
}

Pipe make_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    Pipe pipe{moved_up(ends[0]), moved_up(ends[1])};
    return pipe;
}

/// An unnamed file, so that a child that does not read its input cannot block us or send us SIGPIPE.
FileDescriptor input_of(const std::string& text) {
    if (text.empty())
        return moved_up(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    FileDescriptor file = moved_up(::memfd_create("input", MFD_CLOEXEC));
    for (std::size_t written = 0; file && written < text.size();) {
        const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
        if (count < 0)
            return {};
        written += static_cast<std::size_t>(count);
    }
    if (file && ::lseek(file.get(), 0, SEEK_SET) != 0)
        return {};
    return file;
}

std::vector<std::string> environment_of(const ChildCommand& command) {
    std::vector<std::string> entries;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (!command.environment.contains(text.substr(0, text.find('='))))
            entries.push_back(text);
    }
    for (const auto& [name, value] : command.environment)
        entries.push_back(fmt::format("{}={}", name, value));
    return entries;
}

/// The data that the child needs between fork and exec, where nothing may be allocated.
struct Launch {
    const char* program;
    char* const* arguments;
    char* const* environment;
    pid_t parent;
    int input;
    int output;
    int results;
    int errors; ///< closed by a successful exec; otherwise errno is written to it
};

void default_signals() {
    for (int signal = 1; signal < NSIG; ++signal)
        ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const Launch& launch) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launch.parent)
        ::_exit(cannot_start);
    default_signals();
    // A limit of 1 byte, not 0: only then does the kernel also skip the program in core_pattern.
    const rlimit no_core{1, 1};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(launch.input, STDIN_FILENO);
    ::dup2(launch.output, STDOUT_FILENO);
    ::dup2(launch.output, STDERR_FILENO);
    ::dup2(launch.results, result_descriptor);
    // Descriptors that were opened without O_CLOEXEC. Before Linux 5.9 they are inherited.
    constexpr unsigned close_range_cloexec = 1U << 2;
    ::syscall(SYS_close_range, result_descriptor + 1, ~0U, close_range_cloexec);
    ::execve(launch.program, launch.arguments, launch.environment);
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = ::write(launch.errors, &reason, sizeof reason);
    ::_exit(cannot_start);
}

std::string text_of(int error_number) {
    return std::generic_category().message(error_number);
}

/// Waits until the program runs: 0, or the errno of its exec.
int result_of_exec(const FileDescriptor& errors) {
    int reason = 0;
    ssize_t count = 0;
    do
        count = ::read(errors.get(), &reason, sizeof reason);
    while (count < 0 && errno == EINTR);
    return count == sizeof reason ? reason : 0;
}

void set_nonblocking(const FileDescriptor& descriptor) {
    ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

} // namespace

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (std::string& text : strings)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

StartedChild start_child(const ChildCommand& command) {
    StartedChild child;
    Pipe output = make_pipe();
    Pipe results = make_pipe();
    Pipe errors = make_pipe();
    const FileDescriptor input = input_of(command.input);
    if (!output.writing || !results.writing || !errors.writing || !input) {
        child.error = fmt::format("no descriptors for a child process: {}", text_of(errno));
        return child;
    }
    std::vector<std::string> arguments{command.program};
    arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
    std::vector<std::string> environment = environment_of(command);
    const std::vector<char*> argument_pointers = pointers_to(arguments);
    const std::vector<char*> environment_pointers = pointers_to(environment);
    const Launch launch{command.program.c_str(),
                        argument_pointers.data(),
                        environment_pointers.data(),
                        ::getpid(),
                        input.get(),
                        output.writing.get(),
                        results.writing.get(),
                        errors.writing.get()};
    child.pid = ::fork();
    if (child.pid == 0)
        become(launch);
    if (child.pid < 0) {
        child.error = fmt::format("cannot fork: {}", text_of(errno));
        return child;
    }
    errors.writing = FileDescriptor();
    if (const int reason = result_of_exec(errors.reading); reason != 0) {
        ::waitpid(child.pid, nullptr, 0);
        child.error = fmt::format("cannot start {}: {}", command.program, text_of(reason));
        return child;
    }
    child.output = std::move(output.reading);
    child.results = std::move(results.reading);
    set_nonblocking(child.output);
    set_nonblocking(child.results);
    return child;
}

} // namespace rekindle::doctor
