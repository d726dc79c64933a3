#include "checks.h"

#include <rekindle/base/error.h>
#include <rekindle/runtime/self_test.h>

#include <algorithm>

namespace rekindle::mlp {

namespace {

VerifyRow failure(std::string part, const std::exception& error) {
    return verify::stated(std::move(part), "ran to its end", VerifyRow::Outcome::failed, error.what());
}

VerifyRow::Outcome outcome_of(runtime::SelfTestRow::Outcome outcome) {
    switch (outcome) {
    case runtime::SelfTestRow::Outcome::passed:
        return VerifyRow::Outcome::passed;
    case runtime::SelfTestRow::Outcome::failed:
        return VerifyRow::Outcome::failed;
    case runtime::SelfTestRow::Outcome::unsupported:
        return VerifyRow::Outcome::not_run;
    }
    return VerifyRow::Outcome::failed;
}

} // namespace

namespace verify {

VerifyRow stated(std::string part, std::string name, VerifyRow::Outcome outcome, std::string detail) {
    VerifyRow row;
    row.part = std::move(part);
    row.name = std::move(name);
    row.outcome = outcome;
    row.detail = std::move(detail);
    return row;
}

VerifyRow compared(std::string part, std::string name, double bound, double value, std::string detail) {
    VerifyRow row =
        stated(std::move(part), std::move(name),
               value <= bound ? VerifyRow::Outcome::passed : VerifyRow::Outcome::failed, std::move(detail));
    row.bound = bound;
    row.value = value;
    return row;
}

void check_self_test(runtime::Device& device, const AddRow& add) {
    for (const runtime::SelfTestRow& test : runtime::run_self_test(device).rows)
        add(stated("self-test", test.name, outcome_of(test.outcome), test.detail));
}

} // namespace verify

std::string_view name(VerifyRow::Outcome outcome) noexcept {
    switch (outcome) {
    case VerifyRow::Outcome::passed:
        return "passed";
    case VerifyRow::Outcome::failed:
        return "failed";
    case VerifyRow::Outcome::not_run:
        return "not run";
    case VerifyRow::Outcome::measured:
        return "measured";
    }
    return "failed";
}

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
        } catch (const runtime::Error& error) {
            add(failure(std::move(name), error));
        } catch (const Error& error) {
            add(failure(std::move(name), error));
        }
    };
    part("self-test", [&] { verify::check_self_test(*device, add); });
    part("matrix product", [&] { verify::check_products(device, add); });
    part("training", [&] { verify::check_training(device, add); });
    if (options.speed_seconds > 0)
        part("speed", [&] { verify::measure_speeds(device, options.speed_seconds, add); });
    return rows;
}

bool passed(const std::vector<VerifyRow>& rows) noexcept {
    const auto has = [&](VerifyRow::Outcome outcome) {
        return std::any_of(rows.begin(), rows.end(),
                           [&](const VerifyRow& row) { return row.outcome == outcome; });
    };
    return has(VerifyRow::Outcome::passed) && !has(VerifyRow::Outcome::failed);
}

} // namespace rekindle::mlp
