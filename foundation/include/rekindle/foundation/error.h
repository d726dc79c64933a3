#pragma once
/// The exception that programs report to users, and the value type for expected failures. The exceptions of
/// runtime/ (rekindle/runtime/error.h) are derived from it.

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace rekindle {

/// Exit statuses of every Rekindle program.
enum class ExitStatus : int {
    success = 0,
    failed = 1,    ///< the job failed, or there are findings
    usage = 2,     ///< incorrect usage or input
    internal = 70, ///< a bug in Rekindle
    interrupted = 130,
};

/// What the user needs to know about a failure. Thrown at API boundaries and rendered once, in cli/.
class Error : public std::exception {
  public:
    explicit Error(std::string what, ExitStatus status = ExitStatus::failed)
        : what_(std::move(what)), status_(status) {}

    /// Where it went wrong: `file:line:column`, a path, an option.
    Error& at(std::string where) & {
        where_ = std::move(where);
        return *this;
    }
    Error&& at(std::string where) && {
        where_ = std::move(where);
        return std::move(*this);
    }
    /// What was expected instead.
    Error& expected(std::string text) & {
        expected_ = std::move(text);
        return *this;
    }
    Error&& expected(std::string text) && {
        expected_ = std::move(text);
        return std::move(*this);
    }
    /// What the user can do about it.
    Error& hint(std::string text) & {
        hint_ = std::move(text);
        return *this;
    }
    Error&& hint(std::string text) && {
        hint_ = std::move(text);
        return std::move(*this);
    }

    const char* what() const noexcept override { return what_.c_str(); }
    const std::string& message() const noexcept { return what_; }
    const std::string& where() const noexcept { return where_; }
    const std::string& expectation() const noexcept { return expected_; }
    const std::string& advice() const noexcept { return hint_; }
    ExitStatus status() const noexcept { return status_; }

    /// `where: what, expected …` on one line and the hint on a second one, without a trailing newline.
    std::string render() const;

  private:
    std::string what_;
    std::string where_;
    std::string expected_;
    std::string hint_;
    ExitStatus status_;
};

/// Incorrect usage or input: exit status 2.
inline Error usage_error(std::string what) {
    return Error(std::move(what), ExitStatus::usage);
}
/// A bug in Rekindle itself: exit status 70.
inline Error internal_error(std::string what) {
    return Error(std::move(what), ExitStatus::internal);
}

/// A value, or the error that explains why there is none. For failures that the caller expects; std::expected
/// needs g++ 13.
template <class T>
class Expected {
  public:
    Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value; throws the error if there is none.
    T& value() & {
        require();
        return std::get<0>(state_);
    }
    const T& value() const& {
        require();
        return std::get<0>(state_);
    }
    T&& value() && {
        require();
        return std::get<0>(std::move(state_));
    }
    /// Precondition: has_value().
    T& operator*() & { return *std::get_if<0>(&state_); }
    const T& operator*() const& { return *std::get_if<0>(&state_); }
    T* operator->() { return std::get_if<0>(&state_); }
    const T* operator->() const { return std::get_if<0>(&state_); }
    /// Precondition: !has_value().
    const Error& error() const { return *std::get_if<1>(&state_); }

  private:
    void require() const {
        if (!has_value())
            throw error();
    }
    std::variant<T, Error> state_;
};

} // namespace rekindle
