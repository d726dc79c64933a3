#include "config/settings/rows.h"

#include <rekindle/trainer/settings.h>

#include <algorithm>
#include <iterator>

namespace rekindle::trainer {

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
