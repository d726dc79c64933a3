#include <rekindle/doctor/lookup_json.h>

#include <nlohmann/json.hpp>

namespace rekindle::doctor {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Backing>& evidence) {
    Json list = Json::array();
    for (const Backing& one : evidence)
        list.push_back({{"kind", one.kind}, {"reference", one.reference}, {"note", one.note}});
    return list;
}

} // namespace

Json lookup_json(std::string_view mode, const Report& report, const Knowledge& knowledge) {
    const Json whole = to_json(report, knowledge);
    Json json;
    for (const char* key : {"schema", "program"})
        json[key] = whole.at(key);
    json["lookup"] = mode;
    for (const char* key : {"devices", "findings", "recognized", "candidates", "ruled_out", "ask"})
        json[key] = whole.at(key);
    return json;
}

Json to_json(const std::vector<Mark>& marks) {
    Json list = Json::array();
    for (const Mark& mark : marks)
        list.push_back({{"line", mark.line},
                        {"kind", mark.kind},
                        {"text", mark.text},
                        {"verdict", word_of(mark.verdict)},
                        {"reason", mark.reason},
                        {"evidence", json_of(mark.evidence)}});
    return list;
}

Json to_json(const std::vector<MatrixRow>& rows) {
    Json list = Json::array();
    for (const MatrixRow& row : rows)
        list.push_back({{"torch", row.torch},
                        {"index", row.index},
                        {"url", row.url},
                        {"python", row.python},
                        {"torchvision", row.torchvision},
                        {"torchaudio", row.torchaudio},
                        {"systems", row.systems},
                        {"contains", row.contains},
                        {"by_override", row.by_override},
                        {"note", row.note},
                        {"checked", row.checked},
                        {"evidence", json_of(row.evidence)}});
    return list;
}

Json to_json(const std::vector<Option>& options) {
    Json list = Json::array();
    for (const Option& option : options)
        list.push_back({{"title", option.title},
                        {"detail", option.detail},
                        {"arithmetic", option.arithmetic},
                        {"checked", option.checked},
                        {"evidence", json_of(option.evidence)}});
    return list;
}

std::string_view word_of(Verdict verdict) noexcept {
    switch (verdict) {
    case Verdict::holds:
        return "true";
    case Verdict::wrong:
        return "false";
    case Verdict::harmful:
        return "harmful";
    case Verdict::no_effect:
        return "no effect";
    case Verdict::unknown:
        break;
    }
    return "unknown";
}

} // namespace rekindle::doctor
