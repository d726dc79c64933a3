#include "verify/checks.h"

#include <algorithm>

namespace rekindle::mlp {

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

bool passed(const std::vector<VerifyRow>& rows) noexcept {
    const auto has = [&](VerifyRow::Outcome outcome) {
        return std::any_of(rows.begin(), rows.end(),
                           [&](const VerifyRow& row) { return row.outcome == outcome; });
    };
    return has(VerifyRow::Outcome::passed) && !has(VerifyRow::Outcome::failed);
}

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

} // namespace verify

} // namespace rekindle::mlp
