#include "pipeline/cache_folder.h"
#include "self_test/known_answer.h"
#include "self_test/self_test.h"

#include <rekindle/foundation/fnv1a.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace rekindle::runtime {

namespace {

constexpr std::string_view kind = "RKSELF01";
constexpr std::string_view outcomes[] = {"passed", "failed", "unsupported", "absent"};

/// Changes with everything that the answers depend on.
std::string key_of(const DeviceInfo& info) {
    Fnv1a hash;
    hash.add(REKINDLE_VERSION);
    hash.add(info.name);
    hash.add(info.driver_info);
    hash.add(info.driver_version);
    hash.add(info.can.features.bits());
    hash.add(info.can.minimum_subgroup);
    hash.add(info.can.maximum_subgroup);
    for (const KnownAnswer& answer : known_answers(info.can))
        hash.add(std::as_bytes(answer.kernel->module));
    return std::to_string(hash.value());
}

/// A detail must fit on one line.
std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\t' || c == '\r')
            c = ' ';
    return text;
}

class Lines {
  public:
    explicit Lines(std::string_view text) : rest_(text) {}
    std::optional<std::string_view> next(char end = '\n') {
        const std::size_t at = rest_.find(end);
        if (at == std::string_view::npos)
            return std::nullopt;
        const std::string_view line = rest_.substr(0, at);
        rest_.remove_prefix(at + 1);
        return line;
    }

  private:
    std::string_view rest_;
};

std::optional<SelfTestRow> row_of(std::string_view line) {
    Lines fields(line);
    const auto outcome = fields.next('\t'), disables = fields.next('\t'), name = fields.next('\t');
    const auto detail = fields.next('\t');
    if (!outcome || !disables || !name || !detail)
        return std::nullopt;
    const auto* const known = std::find(std::begin(outcomes), std::end(outcomes), *outcome);
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(disables->data(), disables->data() + disables->size(), bits);
    if (known == std::end(outcomes) || error != std::errc{} || end != disables->data() + disables->size())
        return std::nullopt;
    return SelfTestRow{std::string(*name), static_cast<SelfTestRow::Outcome>(known - std::begin(outcomes)),
                       std::string(*detail), kernels::Features(bits)};
}

} // namespace

SelfTestCache::SelfTestCache(const DeviceInfo& device, const std::filesystem::path& folder)
    : path_(folder / "self-test" / file_name_of(device)), key_(key_of(device)) {}

std::optional<SelfTestResult> SelfTestCache::read() const {
    const auto payload = CacheFile(path_, kind).read();
    if (!payload)
        return std::nullopt;
    Lines lines({reinterpret_cast<const char*>(payload->data()), payload->size()});
    if (lines.next() != key_)
        return std::nullopt;
    SelfTestResult result;
    result.from_cache = true;
    while (const auto line = lines.next()) {
        const std::optional<SelfTestRow> row = row_of(*line);
        if (!row)
            throw Error(path_.string() + " is damaged: a row cannot be read");
        result.rows.push_back(*row);
    }
    if (result.rows.empty())
        throw Error(path_.string() + " is damaged: it holds no rows");
    return result;
}

void SelfTestCache::write(const SelfTestResult& result) const {
    std::string text = key_ + "\n";
    for (const SelfTestRow& row : result.rows)
        text += std::string(outcomes[static_cast<std::size_t>(row.outcome)]) + "\t" +
                std::to_string(row.disables.bits()) + "\t" + one_line(row.name) + "\t" +
                one_line(row.detail) + "\t\n";
    CacheFile(path_, kind).write(std::as_bytes(std::span(text)));
}

} // namespace rekindle::runtime
