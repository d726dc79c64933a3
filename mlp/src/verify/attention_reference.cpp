/// Attention in double, and the largest allowed distance of a device's results from it. Each bound adds up:
///
/// * a sum of n products in any order is within n · u · Σ|products| of the exact one (Higham, §3.5), with
///   u = 2^-24 in float32 and four times that on matrix units;
/// * Vulkan allows exp2(x) and exp(x) 3 + 2 |x| units in the last place (each 2 u at most), and the logarithm
///   3 of them or 2^-21;
/// * kernels on matrix units round weights, and their gradients, to factors of 16 bits: bfloat16 to the
///   nearest (one rounding unit of the type), float16 to either side (two). In float16, a number below the
///   smallest normal one, 2^-14, may also become zero;
/// * results of 16 bits are rounded to the nearest, and the gradients start from such a rounded output.
///
/// Products of errors are smaller than a hundredth of the errors (`second_order_factor`).

#include "verify/attention.h"

#include <algorithm>
#include <cmath>

namespace rekindle::mlp::verify {

namespace {

constexpr double u = rounding_unit(ElementType::float32);
constexpr double second_order_factor = 1.01;

/// An exact number and the largest error that the device's number may have.
struct Number {
    double exact = 0, error = 0;
};

using Row = std::vector<Number>;

/// A sum of products of weights and factors. `loss` accounts for rounding a weight to 16 bits.
struct Sum {
    double exact = 0, magnitude = 0, error = 0;

    void add(const Number& weight, double factor, double loss) {
        exact += weight.exact * factor;
        magnitude += std::abs(weight.exact * factor);
        error += (weight.error + loss) * std::abs(factor);
    }
};

/// One head of one batch.
class Head {
  public:
    Head(const AttentionCase& attention, const AttentionOperands& operands, std::uint32_t batch,
         std::uint32_t head)
        : case_(attention), operands_(operands), batch_(batch), head_(head),
          sum_unit_(sum_unit(attention.on_units)) {}

    void run(const AttentionResults& results, Worst& values, Worst& gradients) {
        std::vector<Row> weights(case_.queries), score_gradients(case_.queries);
        for (std::uint32_t i = 0; i < case_.queries; ++i)
            query(i, results, values, weights[i], score_gradients[i]);
        const auto transposed = [&](const std::vector<Row>& rows) {
            std::vector<Row> columns(case_.keys, Row(case_.queries));
            for (std::uint32_t i = 0; i < case_.queries; ++i)
                for (std::uint32_t j = 0; j < case_.keys; ++j)
                    columns[j][i] = rows[i][j];
            return columns;
        };
        const double scale = case_.scale();
        compare(results.grad_query, score_gradients, operands_.key, scale, gradients);
        compare(results.grad_key, transposed(score_gradients), operands_.query, scale, gradients);
        compare(results.grad_value, transposed(weights), operands_.grad_output, 1, gradients);
        if (!results.grad_bias.values.empty())
            for (std::uint32_t i = 0; i < case_.queries; ++i)
                for (std::uint32_t j = 0; j < case_.keys; ++j)
                    compare(results.grad_bias, index(case_.queries, i, case_.keys, j), score_gradients[i][j],
                            gradients);
    }

  private:
    std::size_t index(std::uint32_t rows, std::uint32_t row, std::uint32_t width,
                      std::uint32_t column) const {
        return ((std::size_t{batch_} * case_.heads + head_) * rows + row) * width + column;
    }
    const float* row(const Operand& operand, std::uint32_t row) const {
        return operand.row(batch_, head_, row);
    }

    /// Compares one number of a result, which the kernel rounded to the type of the operands.
    void compare(const HostNumbers& found, std::size_t index, const Number& number, Worst& worst) const {
        const double unit = case_.type == ElementType::float32 ? u : rounding_unit(case_.type);
        const double half_of_smallest = case_.type == ElementType::float16 ? 0x1p-25 : 0x1p-126;
        const double error = number.error * second_order_factor;
        worst.compare(found, index, number.exact,
                      error + unit * (std::abs(number.exact) + error) + half_of_smallest);
    }

    /// Rounding error of a weight stored in 16 bits.
    double loss(const Number& weight, double largest = 1) const {
        if (!case_.on_units)
            return 0;
        const double size = std::abs(weight.exact) + weight.error;
        if (case_.type == ElementType::bfloat16)
            return rounding_unit(ElementType::bfloat16) * size;
        return size < 0x1p-13 * largest ? size : 2 * rounding_unit(ElementType::float16) * size;
    }

    static Sum dot(const float* a, const float* b, std::uint32_t count) {
        Sum sum;
        for (std::uint32_t e = 0; e < count; ++e)
            sum.add({a[e], 0}, b[e], 0);
        return sum;
    }

    /// The relative error of an exponential whose argument is at most `range` away from zero.
    static double exponential_error(double range) { return (8 + 8 * range) * u; }

    /// The scores of the keys that query i sees.
    Row scores(std::uint32_t i) const {
        Row scores;
        const std::uint32_t seen = case_.causal ? std::min(i + 1, case_.keys) : case_.keys;
        for (std::uint32_t j = 0; j < seen; ++j) {
            const double bias = case_.has_bias ? row(operands_.bias, i)[j] : 0;
            const Sum sum = dot(row(operands_.query, i), row(operands_.key, j), case_.width);
            const double scale = case_.scale();
            scores.push_back({scale * sum.exact + bias, ((case_.width + 2) * sum_unit_ + 4 * u) *
                                                            (scale * sum.magnitude + std::abs(bias))});
        }
        return scores;
    }

    /// Compares the results of query i. Fills in its weights and the gradients of its scores, which are zero
    /// for keys that it does not see.
    void query(std::uint32_t i, const AttentionResults& results, Worst& values, Row& weights,
               Row& score_gradients) const {
        const Row x = scores(i);
        const auto seen = static_cast<std::uint32_t>(x.size());
        double largest = x[0].exact, smallest = x[0].exact, error = 0, total = 0;
        for (const Number& score : x) {
            largest = std::max(largest, score.exact);
            smallest = std::min(smallest, score.exact);
            error = std::max(error, score.error);
        }
        for (const Number& score : x)
            total += std::exp(score.exact - largest);
        // Relative errors of an unnormalized weight, which is rescaled with every slice, and of the total.
        const double slices = std::ceil(seen / 16.0) + 1;
        const double weight_error = error + slices * exponential_error(largest - smallest);
        const double total_error = weight_error + (seen + 4) * u;
        const Number log_sum{largest + std::log(total),
                             total_error + 0x1p-21 + 8 * u * (std::abs(largest) + std::log(total) + 1)};
        values.compare(results.log_sums, index(case_.queries, i, 1, 0), log_sum.exact,
                       log_sum.error * second_order_factor);

        weights.resize(case_.keys);
        for (std::uint32_t j = 0; j < seen; ++j)
            weights[j].exact = std::exp(x[j].exact - log_sum.exact);
        std::vector<Number> output(case_.value_width);
        for (std::uint32_t e = 0; e < case_.value_width; ++e) {
            Sum sum;
            for (std::uint32_t j = 0; j < seen; ++j)
                sum.add({weights[j].exact, weights[j].exact * (weight_error + total_error)},
                        row(operands_.value, j)[e], loss(weights[j], 1 / total));
            output[e] = {sum.exact, sum.error + (seen + 4) * sum_unit_ * sum.magnitude};
            compare(results.output, index(case_.queries, i, case_.value_width, e), output[e], values);
        }
        const Number output_dot = dot_with_gradient(i, output);
        score_gradients.resize(case_.keys);
        for (std::uint32_t j = 0; j < seen; ++j) {
            weights[j].error = weights[j].exact *
                               (x[j].error + log_sum.error + exponential_error(log_sum.exact - x[j].exact) +
                                4 * u * (std::abs(x[j].exact) + std::abs(log_sum.exact)));
            const Sum share = dot(row(operands_.grad_output, i), row(operands_.value, j), case_.value_width);
            const double difference = share.exact - output_dot.exact;
            const double difference_error = case_.value_width * sum_unit_ * share.magnitude +
                                            output_dot.error +
                                            2 * u * (std::abs(share.exact) + std::abs(output_dot.exact));
            score_gradients[j] = {weights[j].exact * difference, weights[j].error * std::abs(difference) +
                                                                     weights[j].exact * difference_error};
        }
    }

    /// The dot product of the output, as it was stored, and its gradient.
    Number dot_with_gradient(std::uint32_t i, const std::vector<Number>& output) const {
        const float* gradient = row(operands_.grad_output, i);
        Sum sum;
        for (std::uint32_t e = 0; e < case_.value_width; ++e)
            sum.add(
                {output[e].exact, output[e].error + rounding_unit(case_.type) * std::abs(output[e].exact)},
                gradient[e], 0);
        return {sum.exact, (sum.error + case_.value_width * u * sum.magnitude) * second_order_factor};
    }

    /// Compares the rows of scale · weights · operand.
    void compare(const HostNumbers& found, const std::vector<Row>& weights, const Operand& operand,
                 double scale, Worst& worst) const {
        for (std::uint32_t i = 0; i < weights.size(); ++i)
            for (std::uint32_t e = 0; e < operand.width; ++e) {
                Sum sum;
                for (std::uint32_t j = 0; j < operand.rows; ++j)
                    sum.add(weights[i][j], row(operand, j)[e], loss(weights[i][j]));
                const double error = sum.error + (operand.rows + 4) * sum_unit_ * sum.magnitude;
                compare(found, index(static_cast<std::uint32_t>(weights.size()), i, operand.width, e),
                        {scale * sum.exact, scale * error}, worst);
            }
    }

    const AttentionCase& case_;
    const AttentionOperands& operands_;
    std::uint32_t batch_, head_;
    double sum_unit_;
};

} // namespace

AttentionErrors attention_errors(const AttentionCase& attention, const AttentionOperands& operands,
                                 const AttentionResults& results) {
    Worst values, gradients;
    for (std::uint32_t batch = 0; batch < attention.batch; ++batch)
        for (std::uint32_t head = 0; head < attention.heads; ++head)
            Head(attention, operands, batch, head).run(results, values, gradients);
    return {values.share(), gradients.share()};
}

} // namespace rekindle::mlp::verify
