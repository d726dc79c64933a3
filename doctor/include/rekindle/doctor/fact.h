#pragma once
/// One value read from a host: what it is and where it was read, or why it could not be. Collectors make
/// facts and never judge them.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rekindle::doctor {

/// Three states: a value; no value and a reason (`unread`); neither, when nothing tried to read it.
template <class T>
struct Fact {
    std::optional<T> value;
    std::string source; ///< path, command, option or "this process"; as it would be on the host itself
                        ///< (without --root)
    std::string unread; ///< why there is no value: "Permission denied"; "" when there is one or nothing tried
                        ///< to read it

    Fact() = default;
    Fact(T known, std::string read_from) : value(std::move(known)), source(std::move(read_from)) {}

    static Fact failed(std::string_view reason, std::string_view read_from) {
        Fact fact;
        fact.unread = reason;
        fact.source = read_from;
        return fact;
    }

    bool known() const noexcept { return value.has_value(); }
    explicit operator bool() const noexcept { return known(); }
    /// Precondition: known().
    const T& operator*() const { return *value; }   // NOLINT(bugprone-unchecked-optional-access)
    const T* operator->() const { return &*value; } // NOLINT(bugprone-unchecked-optional-access)
    T value_or(T otherwise) const { return value.value_or(std::move(otherwise)); }
    /// Whether the value is known and equals this one.
    bool is(const T& other) const { return value.has_value() && *value == other; }

    friend bool operator==(const Fact&, const Fact&) = default;
};

} // namespace rekindle::doctor
