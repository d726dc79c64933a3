#pragma once
/// Whether a device computes what it should: known answers, matrix products and training steps against the
/// processor.

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
        not_run,  ///< the device lacks what it needs; `detail` says what
        measured, ///< a speed: there is nothing that it must reach
    };
    std::string part;            ///< "self-test", "matrix product", "training" or "speed"
    std::string name;            ///< "16-32-16-1: gradients, 20 steps"
    std::string unit;            ///< of bound and value; "" for a relative error
    std::optional<double> bound; ///< the most that passes
    std::optional<double> value;
    Outcome outcome = Outcome::not_run;
    std::string detail;
};
/// "passed", "failed", "not run" or "measured".
std::string_view name(VerifyRow::Outcome outcome) noexcept;

struct VerifyOptions {
    /// Of each speed; 0 leaves the speeds out.
    double speed_seconds = 0.3;
    /// Every row as soon as it is known.
    std::function<void(const VerifyRow&)> finished;
};

/// All rows, in a fixed order. A part that throws (out of memory, a refused kernel) is a failed row with the
/// message; when the device is lost the rest is left out. Bounds:
/// * a self-test row passes or not.
/// * matrix products in float32: per element |C − Ĉ| ≤ k · 2⁻²⁴ · (|A| · |B|) (the standard bound of a sum of
/// k
///   products in any order, N. J. Higham, Accuracy and Stability of Numerical Algorithms, §3.5); the row's
///   value is the largest share of that bound, so 1 is the most. Float16 factors: the same with the float16
///   numbers as they are.
/// * training: ‖g − ĝ‖ / ‖ĝ‖ ≤ 1e-5 over all parameters, where ĝ is the CPU engine's gradient of the same
/// batch from
///   the same state (20 steps, each from the CPU's state), losses of the steps to 1e-5, and after 20 steps
///   without going back, losses to 1e-3.
std::vector<VerifyRow> verify_device(const std::shared_ptr<runtime::Device>& device,
                                     const VerifyOptions& options = {});

/// Whether no row failed and at least one passed.
bool passed(const std::vector<VerifyRow>& rows) noexcept;

} // namespace rekindle::mlp
