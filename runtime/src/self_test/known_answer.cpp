#include "self_test/known_answer.h"

#include <rekindle/foundation/text.h>

#include <cmath>
#include <sstream>

namespace rekindle::runtime {

namespace {

template <class Found, class Text>
std::string mistake(std::span<const Found> found, std::size_t expected,
                    std::span<const char* const> operations, const std::function<bool(std::size_t)>& right,
                    const Text& expected_text) {
    if (found.size() != expected)
        return counted(found.size(), "result") + " instead of " + std::to_string(expected);
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = found.size(); i-- > 0;)
        if (!right(i)) {
            ++wrong;
            first = i;
        }
    if (wrong == 0)
        return {};
    std::ostringstream text;
    text.precision(17);
    text << operations[first % operations.size()] << " of item " << first / operations.size() << " is "
         << found[first] << ", not " << expected_text(first) << "; " << wrong << " of " << found.size()
         << " results are wrong";
    return text.str();
}

} // namespace

std::vector<std::byte> unwritten(std::size_t bytes) {
    return std::vector<std::byte>(bytes, std::byte{0xa5});
}

double unit_in_last_place(double value, int bits) {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(1.0, exponent - bits);
}

std::string mistake_in(std::span<const double> found, std::span<const Number> expected,
                       std::span<const char* const> operations) {
    return mistake(
        found, expected.size(), operations,
        [&](std::size_t i) { return std::abs(found[i] - expected[i].value) <= expected[i].tolerance; },
        [&](std::size_t i) { return expected[i].value; });
}

std::string mistake_in(std::span<const std::uint64_t> found, std::span<const std::uint64_t> expected,
                       std::span<const char* const> operations) {
    return mistake(
        found, expected.size(), operations, [&](std::size_t i) { return found[i] == expected[i]; },
        [&](std::size_t i) { return expected[i]; });
}

std::vector<KnownAnswer> known_answers(const Capabilities& can) {
    std::vector<KnownAnswer> list;
    add_float_answers(list);
    add_integer_answers(list);
    add_workgroup_answers(list, can);
    add_narrow_answers(list);
    add_matrix_answers(list, can);
    return list;
}

} // namespace rekindle::runtime
