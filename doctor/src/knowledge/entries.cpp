#include "entries.h"

#include "mapping_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rekindle::doctor {
namespace {

using Need = MappingReader::Need;

void read_backing(MappingReader& reader, Entry& entry) {
    reader.read_items(
        "evidence",
        [&](MappingReader& item) {
            Backing& backing = entry.evidence.emplace_back();
            item.read_word("kind", backing.kind,
                           {"source", "thread", "documentation", "measured", "inferred"});
            item.read("ref", backing.reference);
            item.read("note", backing.note, Need::optional);
        },
        Need::required);
    reader.read("checked", entry.checked);
}

void read_entry(MappingReader& reader, GfxTarget& target) {
    reader.read("name", target.name);
    reader.read_word("architecture", target.architecture,
                     {"GCN", "CDNA", "RDNA1", "RDNA2", "RDNA3", "RDNA3.5", "RDNA4"});
    reader.read("kfd_version", target.kfd_version, Need::required);
    reader.read("gc_versions", target.gc_versions);
    reader.read("generic", target.generic, Need::optional);
    reader.read("integrated", target.integrated);
    reader.read("last_rocm", target.last_rocm, Need::optional);
    reader.read("note", target.note, Need::optional);
    reader.read_items("overrides", [&](MappingReader& item) {
        GfxTarget::Override& tried = target.overrides.emplace_back();
        item.read("value", tried.value);
        item.read_word("verdict", tried.verdict, {"safe", "risky", "unsafe", "unneeded"});
        item.read("reason", tried.reason);
    });
}

void read_entry(MappingReader& reader, GpuModel& gpu) {
    reader.read("name", gpu.name);
    reader.read_word("vendor", gpu.vendor, {"amd", "nvidia", "intel"});
    reader.read("pci", gpu.pci);
    reader.read("target", gpu.target, Need::optional);
    reader.read("memory_gib", gpu.memory_gib);
    reader.read("integrated", gpu.integrated);
}

void read_entry(MappingReader& reader, WheelIndex& index) {
    reader.read("id", index.id);
    reader.read_word("kind", index.kind, {"rocm", "cuda", "cpu", "xpu"});
    reader.read("url", index.url);
    reader.read("rocm", index.rocm, Need::optional);
    reader.read("cuda", index.cuda, Need::optional);
    reader.read("minimum_driver", index.minimum_driver, Need::optional);
    reader.read("needs_kernel", index.needs_kernel, Need::optional);
    reader.read("targets", index.targets);
    reader.read("device_packages", index.device_packages);
    reader.read("systems", index.systems);
    reader.read("linux_only", index.linux_only);
    reader.read("untested_linux", index.untested_linux);
    reader.read("untested_windows", index.untested_windows);
    reader.read("files_only", index.files_only);
    reader.read("note", index.note, Need::optional);
    reader.read_items("releases", [&](MappingReader& item) {
        WheelIndex::Release& release = index.releases.emplace_back();
        item.read("torch", release.torch);
        item.read("python", release.python);
        item.read("targets", release.targets);
        item.read("checked", release.checked, Need::optional);
    });
}

void read_entry(MappingReader& reader, TorchRelease& release) {
    reader.read("torch", release.torch);
    reader.read("released", release.released, Need::optional);
    reader.read("torchvision", release.torchvision);
    reader.read("torchaudio", release.torchaudio);
    reader.read("numpy", release.numpy, Need::optional);
    reader.read("note", release.note, Need::optional);
}

Severity severity_of(std::string_view word) {
    return word == "note" ? Severity::note : word == "warning" ? Severity::warning : Severity::problem;
}

void read_entry(MappingReader& reader, Cause& cause) {
    reader.read("slug", cause.slug);
    reader.read("code", cause.code);
    reader.read("title", cause.title);
    reader.read("sentence", cause.sentence);
    reader.read("detail", cause.detail, Need::optional);
    std::string severity = "problem";
    reader.read_word("severity", severity, {"note", "warning", "problem"}, Need::optional);
    cause.severity = severity_of(severity);
    reader.read("remedies", cause.remedies);
    if (const YamlNode* unless = reader.take("unless"))
        cause.unless = read_condition(*unless, reader.origin().file, reader.mistakes());
    reader.read("vendors", cause.vendors);
    reader.read("tell_apart", cause.distinguishing_checks); // the format's name
    reader.read("wrong_advice", cause.wrong_advice);
}

void read_entry(MappingReader& reader, EnvironmentVariable& variable) {
    reader.read("name", variable.name);
    reader.read("component", variable.component);
    reader.read_word("status", variable.status, {"real", "unreal", "build-time"});
    reader.read("meaning", variable.meaning);
    reader.read("effect_when", variable.effect_when, Need::optional);
    reader.read("effective_on", variable.effective_on);
    reader.read("advice", variable.advice, Need::optional);
    reader.read("worth_reporting", variable.worth_reporting);
    reader.read_items("misuses", [&](MappingReader& item) {
        EnvironmentVariable::Misuse& misuse = variable.misuses.emplace_back();
        item.read("value", misuse.value, Need::optional);
        item.read("claimed", misuse.claimed, Need::optional);
        item.read("unless", misuse.unless, Need::optional);
        item.read_word("verdict", misuse.verdict, {"false", "harmful", "no-effect"});
        item.read("correction", misuse.correction);
    });
}

void read_entry(MappingReader& reader, VariableFamily& family) {
    reader.read("prefix", family.prefix);
    reader.read("component", family.component);
    reader.read_word("what", family.what, {"variable", "parameter"});
    reader.read("shared", family.shared);
    reader.read("names", family.names, Need::required);
}

void read_applicability(MappingReader& reader, Applicability& applies) {
    reader.read("systems", applies.systems, Need::required);
    reader.read("vendors", applies.vendors);
    reader.read("distributions", applies.distributions);
    reader.read("containers", applies.containers);
    reader.read("environments", applies.environments);
    reader.read("rocm", applies.rocm);
    reader.read_word("place", applies.place, {"here", "host", "container", "windows"}, Need::optional);
    reader.read_word("vulkan", applies.vulkan, {"works", "missing"}, Need::optional);
    if (const YamlNode* condition = reader.take("requires"))
        applies.requires_known = read_condition(*condition, reader.origin().file, reader.mistakes());
}

void read_entry(MappingReader& reader, Remedy& remedy) {
    reader.read("id", remedy.id);
    reader.read_mapping("for", [&](MappingReader& item) { read_applicability(item, remedy.applies); });
    reader.read("otherwise", remedy.otherwise, Need::optional);
    reader.read("title", remedy.title);
    reader.read("changes", remedy.changes);
    reader.read("commands", remedy.commands);
    reader.read("verify", remedy.verify, Need::optional);
    reader.read("expect", remedy.expect, Need::optional);
    reader.read("undo", remedy.undo);
    reader.read("minutes", remedy.minutes, Need::required);
    reader.read("risk", remedy.risk);
    reader.read("root", remedy.root);
    reader.read("reboot", remedy.reboot);
    reader.read("reversible", remedy.reversible);
    reader.read("automatic", remedy.automatic);
    reader.read("cost", remedy.cost, Need::required);
}

void read_entry(MappingReader& reader, Alternative& alternative) {
    reader.read("id", alternative.id);
    reader.read("title", alternative.title);
    reader.read_word("kind", alternative.kind,
                     {"cpu", "native-wheel", "vulkan", "opencl", "cloud", "card", "distribution"});
    reader.read("detail", alternative.detail);
    reader.read("price_per_hour", alternative.price_per_hour);
    reader.read("price_once", alternative.price_once);
    reader.read("priced", alternative.priced, Need::optional);
    reader.read("targets", alternative.targets);
}

void read_entry(MappingReader& reader, Distribution& distribution) {
    reader.read("name", distribution.name);
    reader.read("os_id", distribution.os_id);
    reader.read("release", distribution.release);
    for (const auto& [key, into] :
         {std::pair{"kernel", &distribution.kernel}, std::pair{"mesa", &distribution.mesa},
          std::pair{"vulkan", &distribution.vulkan}, std::pair{"rocm", &distribution.rocm},
          std::pair{"nvidia", &distribution.nvidia}, std::pair{"python", &distribution.python},
          std::pair{"glibc", &distribution.glibc}, std::pair{"note", &distribution.note}})
        reader.read(key, *into, Need::optional);
}

void read_entry(MappingReader& reader, ContainerImage& image) {
    reader.read("tag", image.tag);
    reader.read("rocm", image.rocm, Need::optional);
    reader.read("torch", image.torch, Need::optional);
    reader.read("python", image.python, Need::optional);
    reader.read("os", image.os, Need::optional);
}

void read_entry(MappingReader& reader, Claim& claim) {
    reader.read("id", claim.id);
    reader.read_word("kind", claim.kind,
                     {"claim", "variable", "command", "image", "version pair", "gfx target"}, Need::optional);
    reader.read("patterns", claim.patterns, Need::required);
    reader.read("about", claim.about);
    reader.read("under", claim.under);
    reader.read_word("where", claim.where, {"container", "host"}, Need::optional);
    reader.read("says", claim.says);
    reader.read_word("verdict", claim.verdict, {"true", "false", "harmful", "no-effect", "unknown"});
    reader.read("correction", claim.correction);
}

void read_entry(MappingReader& reader, Signature& signature) {
    reader.read("id", signature.id);
    reader.read("title", signature.title);
    reader.read("patterns", signature.patterns, Need::required);
    reader.read("means", signature.means);
    reader.read("harmless", signature.harmless);
    reader.read("lasting", signature.lasting);
    reader.read("last_error", signature.last_error);
    if (const YamlNode* unless = reader.take("unless"))
        signature.unless = read_condition(*unless, reader.origin().file, reader.mistakes());
    reader.read_items("candidates", [&](MappingReader& item) {
        Signature::Candidate& candidate = signature.candidates.emplace_back();
        item.read("cause", candidate.cause);
        item.read_word("strength", candidate.strength, {"decisive", "strong", "likely", "possible"});
        candidate.origin = item.origin();
        if (const YamlNode* when = item.take("when"))
            candidate.when = read_condition(*when, signature.origin.file, item.mistakes());
        item.read("because", candidate.because, Need::optional);
    });
    reader.read("ask", signature.ask);
}

template <class T>
void read_list(const YamlNode& document, std::string_view file, std::vector<T>& into, Mistakes& mistakes) {
    for (const YamlNode& item : document.items) {
        MappingReader reader(item, file, mistakes);
        T& entry = into.emplace_back();
        entry.origin = reader.origin();
        if (item.kind != YamlNode::Kind::mapping) {
            into.pop_back();
            continue;
        }
        read_entry(reader, entry);
        read_backing(reader, entry);
        reader.finish();
    }
}

using Reader = void (*)(const YamlNode&, std::string_view, Knowledge&, Mistakes&);

template <auto member>
void read_into(const YamlNode& document, std::string_view file, Knowledge& into, Mistakes& mistakes) {
    read_list(document, file, into.*member, mistakes);
}

struct EntryType {
    std::string_view name;
    Reader read;
};

constexpr std::array<EntryType, 13> entry_types{{
    {"gfx_targets", read_into<&Knowledge::gfx_targets>},
    {"gpus", read_into<&Knowledge::gpus>},
    {"indexes", read_into<&Knowledge::indexes>},
    {"torch_releases", read_into<&Knowledge::torch_releases>},
    {"causes", read_into<&Knowledge::causes>},
    {"signatures", read_into<&Knowledge::signatures>},
    {"variables", read_into<&Knowledge::variables>},
    {"variable_families", read_into<&Knowledge::variable_families>},
    {"remedies", read_into<&Knowledge::remedies>},
    {"alternatives", read_into<&Knowledge::alternatives>},
    {"images", read_into<&Knowledge::images>},
    {"distributions", read_into<&Knowledge::distributions>},
    {"claims", read_into<&Knowledge::claims>},
}};

const EntryType* find_type(std::string_view file) noexcept {
    std::string_view top = file.substr(0, file.find('/'));
    if (top.size() == file.size() && top.ends_with(".yaml"))
        top.remove_suffix(5);
    const auto found = std::find_if(entry_types.begin(), entry_types.end(),
                                    [&](const EntryType& type) { return type.name == top; });
    return found == entry_types.end() ? nullptr : &*found;
}

std::vector<std::string> condition_values(const YamlNode& node, std::string_view key, std::string_view file,
                                          Mistakes& mistakes) {
    if (node.kind == YamlNode::Kind::scalar)
        return {node.text};
    std::vector<std::string> values;
    for (const YamlNode& item : node.items) {
        if (item.kind == YamlNode::Kind::scalar)
            values.push_back(item.text);
        else
            mistakes.add({std::string(file), item.line}, fmt::format("an item of {} must be text", key));
    }
    if (node.kind != YamlNode::Kind::sequence || node.items.empty())
        mistakes.add({std::string(file), node.line}, fmt::format("{} must be text or a list of texts", key));
    return values;
}

Condition read_member(const YamlMember& member, std::string_view file, Mistakes& mistakes) {
    Condition condition;
    condition.key = member.key;
    condition.origin = {std::string(file), member.line};
    const bool combines = member.key == "any" || member.key == "all";
    if (combines && member.value.kind == YamlNode::Kind::sequence && !member.value.items.empty()) {
        for (const YamlNode& part : member.value.items)
            condition.parts.push_back(read_condition(part, file, mistakes));
    } else if (combines) {
        mistakes.add(condition.origin, fmt::format("{} must be a list of mappings", member.key));
    } else if (member.key == "not") {
        condition.parts.push_back(read_condition(member.value, file, mistakes));
    } else {
        condition.values = condition_values(member.value, member.key, file, mistakes);
    }
    return condition;
}

} // namespace

bool is_template(std::string_view file) noexcept {
    const std::size_t slash = file.rfind('/');
    return file.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with('_');
}

void read_entries(const YamlNode& document, std::string_view file, Knowledge& into, Mistakes& mistakes) {
    const EntryType* type = find_type(file);
    const auto wrong = [&](std::string what) {
        mistakes.add({std::string(file), std::max(1, document.line)}, std::move(what));
    };
    if (type == nullptr) {
        std::vector<std::string_view> names;
        names.reserve(entry_types.size());
        for (const EntryType& known : entry_types)
            names.push_back(known.name);
        return wrong(
            fmt::format("this file name matches no type of entry; the types are {}", fmt::join(names, ", ")));
    }
    if (document.kind == YamlNode::Kind::null)
        return;
    if (document.kind != YamlNode::Kind::sequence)
        return wrong(fmt::format("the file must be a list of entries, not {}", document.kind_name()));
    type->read(document, file, into, mistakes);
}

Condition read_condition(const YamlNode& node, std::string_view file, Mistakes& mistakes) {
    Condition condition;
    condition.origin = {std::string(file), node.line};
    if (node.kind != YamlNode::Kind::mapping || node.members.empty()) {
        mistakes.add(
            condition.origin,
            fmt::format("expected a condition (a mapping with at least one key), not {}", node.kind_name()));
        return condition;
    }
    if (node.members.size() == 1)
        return read_member(node.members.front(), file, mistakes);
    condition.key = "all";
    for (const YamlMember& member : node.members)
        condition.parts.push_back(read_member(member, file, mistakes));
    return condition;
}

} // namespace rekindle::doctor
