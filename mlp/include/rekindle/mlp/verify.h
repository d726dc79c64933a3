#pragma once
/// Checks whether a device computes correctly: known answers, and matrix products, attention and training
/// steps compared with the CPU.

#include <rekindle/runtime/device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rekindle::mlp {

struct VerifyRow {
    enum class Outcome {
        passed,
        failed,
        not_run,  ///< the device lacks something it needs; `detail` says what
        measured, ///< a speed, which has no required value
    };
    std::string part;            ///< "self-test", "matrix product", "attention", "training" or "speed"
    std::string name;            ///< "16-32-16-1: gradients, 20 steps"
    std::string unit;            ///< of bound and value; "" for a relative error
    std::optional<double> bound; ///< the largest value that passes
    std::optional<double> value;
    Outcome outcome = Outcome::not_run;
    std::string detail;
};
/// "passed", "failed", "not run" or "measured".
std::string_view name(VerifyRow::Outcome outcome) noexcept;

struct VerifyOptions {
    /// Seconds per speed measurement; 0 skips the speeds.
    double speed_seconds = 0.3;
    /// Called with every row as soon as it is known.
    std::function<void(const VerifyRow&)> finished;
};

/// All rows, in a fixed order. A part that throws (out of memory, a refused kernel) becomes a failed row with
/// the message; if the device is lost, the remaining parts are skipped. Bounds:
/// * self-test: none; a row passes or fails.
/// * matrix products: per element |C − Ĉ| ≤ k · 2⁻²⁴ · (|A| · |B|), the standard bound for a sum of k
///   products in any order (N. J. Higham, Accuracy and Stability of Numerical Algorithms, §3.5); 16-bit
///   results may differ by another half of a unit in the last place. Matrix units may truncate instead of
///   rounding, so on them the bound of the sums is four times as large. The row shows the largest error as a
///   fraction of its bound: 1 is the limit.
/// * attention: the same bound, carried through the exponentials and quotients
///   (mlp/src/verify/attention_reference.cpp).
/// * training: ‖g − ĝ‖ / ‖ĝ‖ ≤ 1e-5 over all parameters, where ĝ is the CPU engine's gradient for the same
///   batch from the same state (20 steps, each starting from the CPU's state); the losses of these steps
///   differ by at most 1e-5, relative to the CPU's, and those of 20 steps without a reset by at most 1e-3.
///
/// A CPU driver takes seconds to compile a kernel, so fewer products are checked on one, and attention only
/// in float32.
std::vector<VerifyRow> verify_device(const std::shared_ptr<runtime::Device>& device,
                                     const VerifyOptions& options = {});

/// Whether no row failed and at least one passed.
bool passed(const std::vector<VerifyRow>& rows) noexcept;

} // namespace rekindle::mlp
