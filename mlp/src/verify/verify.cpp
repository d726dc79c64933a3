#include "verify/checks.h"

#include <rekindle/foundation/error.h>
#include <rekindle/runtime/self_test.h>

namespace rekindle::mlp {

namespace {

VerifyRow failure(std::string part, const std::exception& error) {
    return verify::stated(std::move(part), "ran to completion", VerifyRow::Outcome::failed, error.what());
}

VerifyRow::Outcome outcome_of(runtime::SelfTestRow::Outcome outcome) {
    switch (outcome) {
    case runtime::SelfTestRow::Outcome::passed:
        return VerifyRow::Outcome::passed;
    case runtime::SelfTestRow::Outcome::failed:
        return VerifyRow::Outcome::failed;
    case runtime::SelfTestRow::Outcome::unsupported:
    case runtime::SelfTestRow::Outcome::absent:
        return VerifyRow::Outcome::not_run;
    }
    return VerifyRow::Outcome::failed;
}

} // namespace

namespace verify {

void check_self_test(runtime::Device& device, const AddRow& add) {
    for (const runtime::SelfTestRow& test : runtime::run_self_test(device).rows)
        add(stated("self-test", test.name, outcome_of(test.outcome), test.detail));
}

} // namespace verify

std::vector<VerifyRow> verify_device(const std::shared_ptr<runtime::Device>& device,
                                     const VerifyOptions& options) {
    std::vector<VerifyRow> rows;
    const verify::AddRow add = [&](VerifyRow row) {
        rows.push_back(std::move(row));
        if (options.finished)
            options.finished(rows.back());
    };
    bool lost = false;
    const auto part = [&](std::string name, const std::function<void()>& check) {
        if (lost)
            return;
        try {
            check();
        } catch (const runtime::DeviceLost& error) {
            lost = true;
            add(failure(std::move(name), error));
        } catch (const Error& error) {
            add(failure(std::move(name), error));
        }
    };
    part("self-test", [&] { verify::check_self_test(*device, add); });
    part("matrix product", [&] { verify::check_products(device, add); });
    part("attention", [&] { verify::check_attention(device, add); });
    part("training", [&] { verify::check_training(device, add); });
    if (options.speed_seconds > 0)
        part("speed", [&] { verify::measure_speeds(device, options.speed_seconds, add); });
    return rows;
}

} // namespace rekindle::mlp
