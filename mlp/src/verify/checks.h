#pragma once
/// The parts of verify_device. Each reports its rows through `add`, in a fixed order; device failures are
/// thrown.

#include <rekindle/mlp/verify.h>

#include <functional>

namespace rekindle::mlp::verify {

using AddRow = std::function<void(VerifyRow)>;

/// A row without numbers.
VerifyRow stated(std::string part, std::string name, VerifyRow::Outcome outcome, std::string detail);
/// A row with a bound: passes if value <= bound (so it fails for NaN).
VerifyRow compared(std::string part, std::string name, double bound, double value, std::string detail = {});

void check_self_test(runtime::Device& device, const AddRow& add);
void check_products(const std::shared_ptr<runtime::Device>& device, const AddRow& add);
void check_attention(const std::shared_ptr<runtime::Device>& device, const AddRow& add);
void check_training(const std::shared_ptr<runtime::Device>& device, const AddRow& add);
/// Takes about `seconds` per figure.
void measure_speeds(const std::shared_ptr<runtime::Device>& device, double seconds, const AddRow& add);

} // namespace rekindle::mlp::verify
