#include <rekindle/trainer/setting.h>

#include <algorithm>
#include <array>

namespace rekindle::trainer {

namespace {

/// The kind of each type of SettingField, in its order.
constexpr std::array kinds{ValueKind::text,   ValueKind::path_list,    ValueKind::flag, ValueKind::integer,
                           ValueKind::number, ValueKind::integer_list, ValueKind::word};
static_assert(kinds.size() == std::variant_size_v<SettingField>);

} // namespace

std::string key_of(std::string_view name) {
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

} // namespace rekindle::trainer
