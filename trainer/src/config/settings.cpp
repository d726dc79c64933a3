#include "config/settings/rows.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace rekindle::trainer {

namespace {

/// The kind of each type of SettingField, in its order.
constexpr std::array kinds{ValueKind::text,   ValueKind::path_list,    ValueKind::flag, ValueKind::integer,
                           ValueKind::number, ValueKind::integer_list, ValueKind::word};
static_assert(kinds.size() == std::variant_size_v<SettingField>);

} // namespace

std::string Setting::key() const {
    std::string text(name);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

ValueKind Setting::kind() const {
    return form.value_or(kinds[field.index()]);
}

std::vector<std::string_view> Setting::words() const {
    const ChoiceField* choice = std::get_if<ChoiceField>(&field);
    return choice == nullptr ? special_words : choice->names();
}

const std::vector<Setting>& settings() {
    static const std::vector<Setting> table = [] {
        std::vector<Setting> all;
        for (auto* make : {rows::input, rows::sessions, rows::volume_profile, rows::features_and_target,
                           rows::network, rows::optimization, rows::run}) {
            std::vector<Setting> part = make();
            std::move(part.begin(), part.end(), std::back_inserter(all));
        }
        return all;
    }();
    return table;
}

} // namespace rekindle::trainer
