#include "features/session_table.h"

#include <rekindle/base/text.h>
#include <rekindle/market/features.h>
#include <rekindle/market/minute_features.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rekindle::market {
namespace {

std::vector<SessionFeature> make_session_table() {
    std::vector<SessionFeature> table;
    append_session_group(table);
    append_vix_group(table);
    append_returns_group(table);
    append_gap_group(table);
    append_calendar_group(table);
    append_naked_poc_group(table);
    append_delta_group(table);
    return table;
}

std::vector<FeatureInfo> make_table() {
    std::vector<FeatureInfo> table;
    for (const SessionFeature& feature : session_feature_table())
        table.push_back(feature.info);
    for (const MinuteFeature& feature : minute_feature_table())
        table.push_back(feature.info);
    return table;
}

std::string look_back_text(const FeatureInfo& info, const char* noun) {
    if (info.look_back == FeatureInfo::all_earlier)
        return fmt::format("all earlier {}s", noun);
    return info.look_back == 0 ? "none" : counted(info.look_back, noun);
}

std::string_view describe_group(std::string_view group) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> descriptions{{
        {"session",
         "The default: the 54 columns of the original system, same names, order and formulas. \"d\" means "
         "sessions. Look-backs of 5, 10, 20 and 50 sessions; a look-back that is not shorter than the data "
         "is omitted, with a note."},
        {"vix", "The VIX of each session. Needs a VIX column in the bars, or `--vix`."},
        {"returns", "Log returns and realized volatility."},
        {"gap", "From the close of one session to the open of the next."},
        {"calendar", "Features of the date only."},
        {"naked-poc", "Points of control that the market has not revisited."},
        {"delta", "The balance of buyers and sellers. Needs volumes at the bid and at the ask in the bars."},
        {"minute", "One row per bar instead of one per session, so it cannot be combined with other groups. "
                   "The names are those of the original system's per-minute set, in which \"d\" means bars. "
                   "Windows extend across sessions, with prices shifted across rolls."},
    }};
    const auto found = std::find_if(descriptions.begin(), descriptions.end(),
                                    [&](const auto& description) { return description.first == group; });
    return found == descriptions.end() ? std::string_view{} : found->second;
}

} // namespace

std::span<const SessionFeature> session_feature_table() {
    static const std::vector<SessionFeature> table = make_session_table();
    return table;
}

std::span<const FeatureInfo> feature_table() {
    static const std::vector<FeatureInfo> table = make_table();
    return table;
}

std::vector<std::string> feature_groups() {
    std::vector<std::string> groups;
    for (const FeatureInfo& info : feature_table())
        if (std::find(groups.begin(), groups.end(), info.group) == groups.end())
            groups.push_back(info.group);
    return groups;
}

std::string feature_table_markdown() {
    std::string text;
    for (const std::string& group : feature_groups()) {
        const char* noun = group == "minute" ? "bar" : "session";
        text +=
            fmt::format("{}## Group `{}`\n\n{}\n\n| feature | formula | look-back | first {} with a value |\n"
                        "|---|---|---|---|\n",
                        text.empty() ? "" : "\n", group, describe_group(group), noun);
        for (const FeatureInfo& info : feature_table())
            if (info.group == group)
                text += fmt::format("| `{}` | {} | {} | {} |\n", info.name, info.formula,
                                    look_back_text(info, noun), info.first_valid_session + 1);
    }
    return text;
}

} // namespace rekindle::market
