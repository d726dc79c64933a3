#include "../runtime/fixture.h"
#include "verify/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace rekindle::mlp::verify {
namespace {

class Attention : public runtime::test::DeviceTest {
  protected:
    std::shared_ptr<runtime::Device> device = open();

    AttentionResults run(const AttentionCase& attention) {
        const auto stream = device->make_stream();
        DeviceAttention on_device(*device, *stream, attention, AttentionOperands(attention));
        on_device.forward();
        on_device.backward();
        return on_device.results();
    }
};

std::string text(const AttentionCase& attention) {
    return std::string(name(attention.type)) + " " + std::to_string(attention.queries) + " x " +
           std::to_string(attention.keys) + " x " + std::to_string(attention.width);
}

TEST_F(Attention, MatchesSumsInDouble) {
    const bool is_cpu =
        device->info().type == runtime::DeviceType::cpu; // a case takes five seconds to compile
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
        double largest = 0;
        for (const AttentionCase& attention : attention_cases(type, false, is_cpu)) {
            const AttentionErrors errors =
                attention_errors(attention, AttentionOperands(attention), run(attention));
            EXPECT_LE(errors.values, 1) << text(attention);
            EXPECT_LE(errors.gradients, 1) << text(attention);
            largest = std::max(largest, std::min(errors.values, errors.gradients));
        }
        EXPECT_GT(largest, 0.005) << "bounds this far from the errors would hide mistakes";
    }
}

TEST_F(Attention, MatchesWithAMaskOfQueriesAndKeys) {
    const std::vector<AttentionCase> cases = attention_cases(ElementType::float32, false);
    const auto attention = std::ranges::find(cases, true, &AttentionCase::causal);
    ASSERT_NE(attention, cases.end());
    const AttentionErrors errors =
        attention_errors(*attention, AttentionOperands(*attention), run(*attention));
    EXPECT_LE(errors.values, 1);
    EXPECT_LE(errors.gradients, 1);
    AttentionCase other = *attention;
    other.causal = false;
    const AttentionErrors without = attention_errors(other, AttentionOperands(other), run(*attention));
    EXPECT_GT(without.values, 1);
    EXPECT_GT(without.gradients, 1);
}

TEST_F(Attention, MatchesInEveryTile) {
    using products::AttentionTile;
    const AttentionTile eight{8}, wide{8, true}, wide_of_four{4, true};
    const std::vector<AttentionCase> cases{
        {.queries = 77, .keys = 150, .width = 64, .value_width = 40, .padding = 4, .tile = wide},
        {.heads = 2,
         .queries = 131,
         .keys = 90,
         .width = 48,
         .value_width = 64,
         .causal = true,
         .tile = wide_of_four},
        {.queries = 45, .keys = 70, .width = 100, .value_width = 128, .tile = wide_of_four},
        {.queries = 77, .keys = 70, .width = 128, .value_width = 72, .causal = true, .tile = eight},
        {.queries = 70, .keys = 130, .width = 256, .value_width = 200, .tile = eight}};
    for (const AttentionCase& attention : cases) {
        const AttentionErrors errors =
            attention_errors(attention, AttentionOperands(attention), run(attention));
        EXPECT_LE(errors.values, 1) << text(attention);
        EXPECT_LE(errors.gradients, 1) << text(attention);
    }
}

TEST_F(Attention, MatchesOnMatrixUnits) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
        if (!unit_attention(*device, type, 64)) {
            EXPECT_THROW(run({type, true, 1, 1, 16, 16, 16, 16}), runtime::Unsupported);
            continue;
        }
        for (const AttentionCase& attention : attention_cases(type, true)) {
            const AttentionErrors errors =
                attention_errors(attention, AttentionOperands(attention), run(attention));
            EXPECT_LE(errors.values, 1) << text(attention);
            EXPECT_LE(errors.gradients, 1) << text(attention);
        }
    }
}

/// Returns the errors after `change` has altered the results of a passing case.
class WrongAttention : public Attention {
  protected:
    AttentionCase attention = attention_cases(ElementType::float32, false)[1];
    AttentionOperands operands{attention};
    AttentionResults right = run(attention);

    template <class F>
    AttentionErrors after(F&& change) {
        AttentionResults wrong = right;
        change(wrong);
        return attention_errors(attention, operands, wrong);
    }
};

TEST_F(WrongAttention, WrongElementsAreFound) {
    const AttentionErrors errors = after([](AttentionResults&) {});
    ASSERT_LE(std::max(errors.values, errors.gradients), 1);
    using Results = AttentionResults;
    for (const auto member : {&Results::output, &Results::log_sums, &Results::grad_query, &Results::grad_key,
                              &Results::grad_value, &Results::grad_bias}) {
        const bool of_values = member == &Results::output || member == &Results::log_sums;
        const auto error = [&](auto&& change) {
            const AttentionErrors found = after([&](Results& results) { change(results.*member); });
            EXPECT_EQ(of_values ? found.gradients : found.values,
                      of_values ? errors.gradients : errors.values);
            return of_values ? found.values : found.gradients;
        };
        EXPECT_GT(error([](HostNumbers& numbers) { numbers.values[9] += 0.001f; }), 1);
        EXPECT_GT(error([](HostNumbers& numbers) { std::swap(numbers.values[9], numbers.values[10]); }), 1);
        EXPECT_EQ(error([](HostNumbers& numbers) { numbers.values[9] = NAN; }), INFINITY);
        EXPECT_EQ(error([](HostNumbers& numbers) { numbers.written[9] = false; }), INFINITY);
    }
}

TEST_F(WrongAttention, AMissingBiasIsFound) {
    AttentionCase other = attention;
    other.has_bias = false;
    AttentionResults results = right;
    results.grad_bias = {};
    const AttentionErrors errors = attention_errors(other, AttentionOperands(other), results);
    EXPECT_GT(errors.values, 1);
    EXPECT_GT(errors.gradients, 1);
}

} // namespace
} // namespace rekindle::mlp::verify
