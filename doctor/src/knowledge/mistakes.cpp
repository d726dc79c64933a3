#include "mistakes.h"

#include <algorithm>
#include <tuple>

namespace rekindle::doctor {

std::vector<Mistakes::Mistake> Mistakes::sorted() const {
    std::vector<Mistake> ordered = found_;
    std::stable_sort(ordered.begin(), ordered.end(), [](const Mistake& a, const Mistake& b) {
        return std::tie(a.origin.file, a.origin.line) < std::tie(b.origin.file, b.origin.line);
    });
    return ordered;
}

std::string to_string(const Mistakes::Mistake& mistake) {
    return mistake.origin.file + ":" + std::to_string(mistake.origin.line) + ": " + mistake.what;
}

} // namespace rekindle::doctor
