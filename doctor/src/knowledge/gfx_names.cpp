#include "gfx_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <re2/re2.h>

namespace rekindle::doctor {
namespace {

struct ComputeCapability {
    int major = 0;
    int minor = 0;
    bool exact = false; ///< "sm_90a": no other device
    bool known = false;
};

/// "sm_86" and "compute_120f": the last digit is the minor version.
ComputeCapability parse_capability(std::string_view text) noexcept {
    text.remove_prefix(text.find('_') == std::string_view::npos ? 0 : text.find('_') + 1);
    ComputeCapability parsed;
    int number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || number < 10 || number > 9999)
        return parsed;
    parsed.major = number / 10;
    parsed.minor = number % 10;
    parsed.exact = end != text.data() + text.size();
    parsed.known = true;
    return parsed;
}

bool contradict(char one, char other) noexcept {
    return one != 0 && other != 0 && one != other;
}

} // namespace

TargetName parse_target(std::string_view text) noexcept {
    TargetName target;
    std::size_t colon = text.find(':');
    target.name = text.substr(0, colon);
    while (colon != std::string_view::npos) {
        text.remove_prefix(colon + 1);
        colon = text.find(':');
        const std::string_view feature = text.substr(0, colon);
        if (feature.size() < 2)
            continue;
        const std::string_view name = feature.substr(0, feature.size() - 1);
        if (name == "xnack")
            target.xnack = feature.back();
        else if (name == "sramecc")
            target.sramecc = feature.back();
    }
    return target;
}

bool features_contradict(const TargetName& one, const TargetName& other) noexcept {
    return contradict(one.xnack, other.xnack) || contradict(one.sramecc, other.sramecc);
}

int kfd_version_of(std::string_view gfx) noexcept {
    if (!gfx.starts_with("gfx") || gfx.size() < 6 || gfx.size() > 8)
        return 0;
    const auto number = [](std::string_view digits, int base) {
        int value = -1;
        const auto [end, problem] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        return problem == std::errc() && end == digits.data() + digits.size() ? value : -1;
    };
    const int major = number(gfx.substr(3, gfx.size() - 5), 10);
    const int minor = number(gfx.substr(gfx.size() - 2, 1), 16);
    const int stepping = number(gfx.substr(gfx.size() - 1), 16);
    return major < 0 || minor < 0 || stepping < 0 ? 0 : major * 10000 + minor * 100 + stepping;
}

bool cuda_code_runs_on(std::string_view code, std::string_view device) noexcept {
    const ComputeCapability built = parse_capability(code);
    const ComputeCapability has = parse_capability(device);
    if (!built.known || !has.known || !device.starts_with("sm_"))
        return false;
    if (built.exact)
        return built.major == has.major && built.minor == has.minor;
    if (code.starts_with("compute_"))
        return built.major < has.major || (built.major == has.major && built.minor <= has.minor);
    return built.major == has.major && built.minor <= has.minor;
}

std::string capability_of(std::string_view sm) {
    constexpr std::size_t prefix = 3, shortest = prefix + 2;
    if (sm.size() < shortest)
        return "";
    return std::string(sm.substr(prefix, sm.size() - prefix - 1)) + "." + sm.back();
}

std::string override_of_gfx(std::string_view gfx) {
    if (!gfx.starts_with("gfx"))
        return "";
    const std::string_view digits = gfx.substr(3);
    if (digits.size() < 3 || digits.size() > 4 || !std::all_of(digits.begin(), digits.end(), [](char c) {
            return std::isxdigit(static_cast<unsigned char>(c)) != 0;
        }))
        return "";
    const auto hexadecimal = [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) != 0 ? c - '0' : std::tolower(c) - 'a' + 10;
    };
    return fmt::format("{}.{}.{}", digits.substr(0, digits.size() - 2),
                       hexadecimal(digits[digits.size() - 2]), hexadecimal(digits.back()));
}

std::string gfx_of_override(std::string_view value) {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned step = 0;
    if (!RE2::FullMatch(value, R"(\s*(\d{1,2})\.(\d{1,2})\.(\d{1,2})\s*)", &major, &minor, &step) ||
        minor > 15 || step > 15)
        return "";
    return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

} // namespace rekindle::doctor
