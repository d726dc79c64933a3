#include "time/zone_files.h"

#include <rekindle/base/text.h>
#include <rekindle/market/embedded.h>

#include <absl/time/internal/cctz/include/cctz/zone_info_source.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace rekindle::market {
namespace {

namespace cctz = absl::time_internal::cctz;

/// America/New_York is embedded as America_New_York.tzfile, because embedded names have no folders.
std::string embedded_name(const std::string& zone) {
    std::string name = zone;
    std::replace(name.begin(), name.end(), '/', '_');
    return name + ".tzfile";
}

/// A zone file in memory, as a source that Abseil can read.
class EmbeddedZoneSource final : public cctz::ZoneInfoSource {
  public:
    explicit EmbeddedZoneSource(std::string_view bytes) : rest_(bytes) {}
    std::size_t Read(void* target, std::size_t size) override {
        const std::size_t count = std::min(size, rest_.size());
        std::memcpy(target, rest_.data(), count);
        rest_.remove_prefix(count);
        return count;
    }
    int Skip(std::size_t offset) override {
        if (offset > rest_.size())
            return -1;
        rest_.remove_prefix(offset);
        return 0;
    }

  private:
    std::string_view rest_;
};

/// Former names of zones. Interactive Brokers still writes them, and not every system has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> older_names{
    {{"US/Eastern", "America/New_York"},
     {"US/Central", "America/Chicago"},
     {"US/Mountain", "America/Denver"},
     {"US/Pacific", "America/Los_Angeles"}}};

using ZoneSourcePointer = std::unique_ptr<cctz::ZoneInfoSource>;

ZoneSourcePointer
system_file_else_embedded(const std::string& name,
                          const std::function<ZoneSourcePointer(const std::string&)>& system_file) {
    if (auto source = system_file(name))
        return source;
    for (const auto& [older, newer] : older_names)
        if (name == older)
            return system_file_else_embedded(std::string(newer), system_file);
    const std::string_view bytes = embedded_file(embedded_name(name));
    return bytes.empty() ? nullptr : std::make_unique<EmbeddedZoneSource>(bytes);
}

std::vector<std::string> system_zones() {
    const char* folder = std::getenv("TZDIR");
    std::ifstream table(std::string(folder ? folder : "/usr/share/zoneinfo") + "/zone1970.tab");
    std::vector<std::string> names;
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string countries, coordinates, name;
        if (!line.starts_with('#') && fields >> countries >> coordinates >> name)
            names.push_back(name);
    }
    return names;
}

std::string folded(std::string_view text) {
    std::string result;
    for (const char letter : text)
        result += letter == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return result;
}

} // namespace

bool is_plain_zone_name(const std::string& name) noexcept {
    if (name.empty() || name.front() == '/' || name.front() == '.' || name.find("..") != std::string::npos)
        return false;
    return std::all_of(name.begin(), name.end(), [](unsigned char letter) {
        return std::isalnum(letter) || letter == '/' || letter == '_' || letter == '-' || letter == '+';
    });
}

std::vector<std::string> near_zone_names(const std::string& name) {
    std::vector<std::string> known = embedded_zones();
    for (auto& zone : system_zones())
        known.push_back(std::move(zone));
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());

    const std::string query = folded(name);
    std::vector<std::string> near;
    for (const auto& zone : known) {
        const std::string candidate = folded(zone);
        const std::string city = candidate.substr(candidate.rfind('/') + 1);
        const bool similar =
            city == query || candidate == query || !nearest_word(query, {candidate, city}).empty();
        if (similar && near.size() < 3)
            near.push_back(zone);
    }
    return near;
}

std::string joined_zone_names(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::vector<std::string> embedded_zones() {
    std::vector<std::string> names;
    for (const auto line : split(embedded_file("zones.txt"), '\n'))
        if (!line.empty() && line.front() != '#')
            names.emplace_back(trim(line));
    return names;
}

} // namespace rekindle::market

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace time_internal::cctz_extension {
// Abseil declares this symbol weak and calls it for every zone file; a program defines it to provide its own
// files.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the library looks for this name
ZoneInfoSourceFactory zone_info_source_factory = rekindle::market::system_file_else_embedded;
} // namespace time_internal::cctz_extension
ABSL_NAMESPACE_END
} // namespace absl
