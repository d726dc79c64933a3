#include "self_test/known_answer.h"

#include <rekindle/kernels/families/selftest.h>

#include <bit>

namespace rekindle::runtime {

namespace {

constexpr std::uint32_t integer_items = 256;

KnownAnswer words() {
    std::vector<std::uint32_t> input, expected;
    for (std::uint32_t i = 0; i < integer_items; ++i) {
        const std::uint32_t a = mix(2 * i + 1);
        const std::uint32_t b = mix(2 * i + 2) >> (i % 29) | 1;
        const auto signed_a = static_cast<std::int32_t>(a);
        const auto divisor = static_cast<std::int32_t>((b & 0xffff) | 1);
        input.insert(input.end(), {a, b});
        expected.insert(expected.end(), {a + b, a - b, a * b, a / b, a % b, a << (b & 31), a >> (b & 31),
                                         static_cast<std::uint32_t>(signed_a >> (b & 31)),
                                         static_cast<std::uint32_t>(signed_a / divisor),
                                         static_cast<std::uint32_t>(std::popcount(a)),
                                         static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32),
                                         signed_a < static_cast<std::int32_t>(b) ? 1u : 0u});
    }
    return {.name = "32-bit integers",
            .kernel = &kernels::selftest_integer.kernel,
            .groups = groups_of_64(integer_items),
            .count = integer_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake = must_be<std::uint32_t>(
                expected, {"a + b", "a - b", "a * b", "a / b", "a % b", "a << b", "a >> b", "a >> b, signed",
                           "a / b, signed", "set bits of a", "upper half of a * b", "a < b, signed"})};
}

KnownAnswer long_words() {
    std::vector<std::uint64_t> input, expected;
    for (std::uint32_t i = 0; i < integer_items; ++i) {
        const std::uint64_t a = std::uint64_t{mix(4 * i + 1)} << 32 | mix(4 * i + 2);
        const std::uint64_t b = (std::uint64_t{mix(4 * i + 3)} << 32 | mix(4 * i + 4)) >> (i % 61) | 1;
        input.insert(input.end(), {a, b});
        expected.insert(expected.end(), {a + b, a - b, a * b, a / b, a << (b & 63), a >> (b & 63),
                                         static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> (b & 63)),
                                         a < b ? 1u : 0u});
    }
    return {.name = "64-bit integers",
            .kernel = &kernels::selftest_long.kernel,
            .groups = groups_of_64(integer_items),
            .count = integer_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(std::uint64_t)),
            .mistake = must_be<std::uint64_t>(expected, {"a + b", "a - b", "a * b", "a / b", "a << b",
                                                         "a >> b", "a >> b, signed", "a < b"})};
}

KnownAnswer conversions() {
    std::vector<std::uint32_t> input, expected;
    for (std::uint32_t i = 0; i < integer_items; ++i) {
        const float a = static_cast<float>(static_cast<std::int32_t>(mix(i + 9)) >> 4) / 16;
        // 24-bit integers, which float32 represents exactly. Negative ones are 2^32 - n as unsigned numbers,
        // which float32 represents exactly if n is a multiple of 256.
        const std::uint32_t b = mix(i + 900) >> 8 << (i % 2 == 0 ? 0 : 8);
        input.insert(input.end(), {std::bit_cast<std::uint32_t>(a), b});
        expected.insert(expected.end(),
                        {std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(b))),
                         std::bit_cast<std::uint32_t>(static_cast<float>(b)),
                         static_cast<std::uint32_t>(static_cast<std::int32_t>(a)),
                         std::bit_cast<std::uint32_t>(a)});
    }
    return {.name = "integers to float32 and back",
            .kernel = &kernels::selftest_conversions.kernel,
            .groups = groups_of_64(integer_items),
            .count = integer_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake =
                must_be<std::uint32_t>(expected, {"float of a signed integer", "float of an unsigned integer",
                                                  "integer of a float", "bits of a float"})};
}

/// The known answers that the authors of Philox publish with Random123 (kat_vectors).
KnownAnswer philox() {
    const std::vector<std::uint32_t> input{
        0,          0,          0,          0,          0,          0, //
        0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
        0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0};
    const std::vector<std::uint32_t> expected{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                              0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                              0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    return {.name = "Philox4x32-10",
            .kernel = &kernels::selftest_philox.kernel,
            .groups = {1, 1, 1},
            .count = 3,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake = must_be<std::uint32_t>(expected, {"word 0", "word 1", "word 2", "word 3"})};
}

KnownAnswer places() {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t z = 0; z < 7; ++z)
        for (std::uint32_t y = 0; y < 5; ++y)
            for (std::uint32_t x = 0; x < 3; ++x)
                for (std::uint32_t thread = 0; thread < 64; ++thread)
                    expected.push_back(x | y << 8 | z << 16 | thread << 24);
    return {.name = "workgroups and threads",
            .kernel = &kernels::selftest_places.kernel,
            .groups = {3, 5, 7},
            .count = static_cast<std::uint32_t>(expected.size()),
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake = must_be<std::uint32_t>(expected, {"place"})};
}

KnownAnswer branches() {
    std::vector<std::uint32_t> input, expected;
    for (std::uint32_t i = 0; i < integer_items; ++i) {
        std::uint32_t n = 1 + mix(i) % 100'000, steps = 0;
        input.push_back(n);
        for (; n != 1 && steps < 1000; ++steps)
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        expected.push_back(steps);
    }
    return {.name = "loops that differ between neighbors",
            .kernel = &kernels::selftest_branches.kernel,
            .groups = groups_of_64(integer_items),
            .count = integer_items,
            .input = bytes_of(input),
            .output = unwritten(expected.size() * sizeof(std::uint32_t)),
            .mistake = must_be<std::uint32_t>(expected, {"number of iterations"})};
}

} // namespace

void add_integer_answers(std::vector<KnownAnswer>& list) {
    list.push_back(words());
    list.push_back(long_words());
    list.push_back(conversions());
    list.push_back(philox());
    list.push_back(places());
    list.push_back(branches());
}

} // namespace rekindle::runtime
