#include "values.h"

#include <span>

namespace rekindle::kernels::generator {
namespace {

struct Value {
    std::string_view enumeration, name;
    std::uint32_t number;
};

struct Named {
    std::string_view scope, constant, enumeration;
};

enum class Operation : std::uint32_t {
#define REKINDLE_BOTH(name, real, integer) name,
#define REKINDLE_REAL(name, real) name,
#define REKINDLE_INTEGER(name, integer) name,
#include <rekindle/kernels/elementwise.def>
#undef REKINDLE_BOTH
#undef REKINDLE_REAL
#undef REKINDLE_INTEGER
};

enum class Draw : std::uint32_t {
#define REKINDLE_DRAW(name) name,
#include <rekindle/kernels/random.def>
#undef REKINDLE_DRAW
};

constexpr Value values[] = {
#define REKINDLE_VALUE(enumeration, name, number) {#enumeration, #name, number},
#define REKINDLE_NAMED(scope, constant, enumeration)
#include <rekindle/kernels/values.def>
#undef REKINDLE_VALUE
#undef REKINDLE_NAMED
#define REKINDLE_BOTH(name, real, integer)                                                                   \
    {"elementwise", #name, static_cast<std::uint32_t>(Operation::name)},
#define REKINDLE_REAL(name, real) {"elementwise", #name, static_cast<std::uint32_t>(Operation::name)},
#define REKINDLE_INTEGER(name, integer) {"elementwise", #name, static_cast<std::uint32_t>(Operation::name)},
#include <rekindle/kernels/elementwise.def>
#undef REKINDLE_BOTH
#undef REKINDLE_REAL
#undef REKINDLE_INTEGER
#define REKINDLE_DRAW(name) {"draw", #name, static_cast<std::uint32_t>(Draw::name)},
#include <rekindle/kernels/random.def>
#undef REKINDLE_DRAW
};

constexpr Named named[] = {
#define REKINDLE_VALUE(enumeration, name, number)
#define REKINDLE_NAMED(scope, constant, enumeration) {#scope, #constant, #enumeration},
#include <rekindle/kernels/values.def>
#undef REKINDLE_VALUE
#undef REKINDLE_NAMED
};

} // namespace

std::string_view enumeration_of(std::string_view family, std::string_view kernel,
                                std::string_view constant) noexcept {
    for (const Named& one : named)
        if (one.constant == constant &&
            (one.scope == family || one.scope == kernel || one.scope == "everywhere"))
            return one.enumeration;
    return {};
}

std::optional<std::uint32_t> number_of(std::string_view enumeration, std::string_view name) noexcept {
    for (const Value& value : values)
        if (value.enumeration == enumeration && value.name == name)
            return value.number;
    return std::nullopt;
}

} // namespace rekindle::kernels::generator
