#include "check.h"

#include "conditions/keys.h"
#include "entries.h"
#include "gfx_names.h"
#include "load.h"
#include "vocabulary.h"

#include <rekindle/foundation/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <re2/re2.h>
#include <set>

namespace rekindle::doctor {
namespace {

/// A line of a file that could not be parsed: "file:12:3" → its Origin.
Origin origin_of(const Error& error, const std::string& file) {
    std::string_view rest = error.where();
    if (!rest.starts_with(file + ":"))
        return {file, 1};
    rest.remove_prefix(file.size() + 1);
    int line = 1;
    std::from_chars(rest.data(), rest.data() + rest.size(), line);
    return {file, line};
}

bool is_date(std::string_view text) {
    static const RE2 form("(\\d{4})-(\\d\\d)-(\\d\\d)");
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), form, &year, &month, &day) &&
           std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month),
                                       std::chrono::day(day))
               .ok();
}

/// Every check of one folder. `all` is what references may name; `checked` is what is examined (all of it,
/// or a template's entries).
class Checker {
  public:
    Checker(const Knowledge& all, Mistakes& mistakes) : all_(all), mistakes_(mistakes) {}

    void check(const Knowledge& checked) {
        for (const GfxTarget& target : checked.gfx_targets)
            check_target(target);
        for (const GpuModel& gpu : checked.gpus)
            check_gpu(gpu);
        for (const WheelIndex& index : checked.indexes)
            check_index(index);
        for (const TorchRelease& release : checked.torch_releases)
            check_torch_release(release);
        for (const Cause& cause : checked.causes)
            check_cause(cause);
        for (const Signature& signature : checked.signatures)
            check_signature(signature);
        for (const EnvironmentVariable& variable : checked.variables) {
            check_entry(variable);
            targets_or_architectures(variable, variable.effective_on);
            prose(variable, {&variable.meaning, &variable.effect_when, &variable.advice});
            for (const EnvironmentVariable::Misuse& misuse : variable.misuses) {
                for (const std::string* pattern : {&misuse.value, &misuse.claimed, &misuse.unless})
                    if (!pattern->empty())
                        patterns(variable, {*pattern});
                prose(variable, {&misuse.correction});
            }
        }
        for (const VariableFamily& family : checked.variable_families)
            check_family(family);
        for (const Remedy& remedy : checked.remedies)
            check_remedy(remedy);
        for (const Alternative& alternative : checked.alternatives)
            check_alternative(alternative);
        for (const ContainerImage& image : checked.images) {
            check_entry(image);
            matches(image, "tag", image.tag, "[a-z0-9./_-]+:[A-Za-z0-9._-]+");
        }
        for (const Distribution& distribution : checked.distributions) {
            check_entry(distribution);
            matches(distribution, "vulkan", distribution.vulkan, "\\d\\.\\d");
            matches(distribution, "glibc", distribution.glibc, "\\d\\.\\d+");
            matches(distribution, "python", distribution.python, "\\d\\.\\d+");
            prose(distribution, {&distribution.note});
        }
        for (const Claim& claim : checked.claims) {
            check_entry(claim);
            matches(claim, "id", claim.id, "[a-z0-9][a-z0-9.-]*");
            patterns(claim, claim.patterns);
            patterns(claim, claim.about);
            patterns(claim, claim.under);
            prose(claim, {&claim.correction});
        }
    }

    /// Names must be unique within their type.
    void check_unique(const Knowledge& checked) {
        unique(checked.gfx_targets, "name", &GfxTarget::name);
        unique(checked.gpus, "name", &GpuModel::name);
        unique(checked.indexes, "id", &WheelIndex::id);
        unique(checked.torch_releases, "torch", &TorchRelease::torch);
        unique(checked.causes, "slug", &Cause::slug);
        unique(checked.causes, "code", &Cause::code);
        unique(checked.signatures, "id", &Signature::id);
        unique(checked.variables, "name", &EnvironmentVariable::name);
        unique(checked.variable_families, "prefix", &VariableFamily::prefix);
        unique(checked.remedies, "id", &Remedy::id);
        unique(checked.alternatives, "id", &Alternative::id);
        unique(checked.images, "tag", &ContainerImage::tag);
        unique(checked.distributions, "name", &Distribution::name);
        unique(checked.claims, "id", &Claim::id);
        std::map<std::string_view, const GpuModel*> ids;
        for (const GpuModel& gpu : checked.gpus)
            for (const std::string& id : gpu.pci)
                if (const auto [first, added] = ids.emplace(id, &gpu); !added)
                    wrong(gpu, fmt::format("pci {} also belongs to {} ({}:{})", id, first->second->name,
                                           first->second->origin.file, first->second->origin.line));
    }

  private:
    void wrong(const Entry& entry, std::string what) { mistakes_.add(entry.origin, std::move(what)); }

    template <class T>
    void unique(const std::vector<T>& entries, std::string_view key, std::string T::*name) {
        std::map<std::string_view, const T*> seen;
        for (const T& entry : entries) {
            const auto [first, added] = seen.emplace(entry.*name, &entry);
            if (!added && !(entry.*name).empty())
                wrong(entry, fmt::format("duplicate {} {}; first at {}:{}", key, entry.*name,
                                         first->second->origin.file, first->second->origin.line));
        }
    }

    void matches(const Entry& entry, std::string_view key, const std::string& value, const char* form) {
        if (!value.empty() && !RE2::FullMatch(value, form)) // an empty value was reported already
            wrong(entry, fmt::format("{} \"{}\" does not have the form {}", key, value, form));
    }

    void date(const Entry& entry, std::string_view key, const std::string& value) {
        if (!value.empty() && !is_date(value)) // a missing date was reported already where it is required
            wrong(entry, fmt::format("{} \"{}\" is not a date of the form YYYY-MM-DD", key, value));
    }

    void check_entry(const Entry& entry) {
        date(entry, "checked", entry.checked);
        for (const Backing& backing : entry.evidence)
            if (backing.kind == "thread" && backing.reference.find('#') == std::string::npos &&
                backing.reference.find("://") == std::string::npos)
                wrong(entry,
                      fmt::format("thread \"{}\" must be repository#number or a URL", backing.reference));
    }

    /// How many hosts a remedy helps cannot be known, so such figures are rejected.
    void prose(const Entry& entry, std::initializer_list<const std::string*> texts) {
        static const RE2 promise(
            "(?i)(\\d+(\\.\\d+)?\\s*(%|per ?cent)[^.]{0,40}"
            "(success|succeed|work|fix|solv|chance|likel|certain|confiden|users|cases|reliab))|"
            "((success|fix|works?|chance|probability|confidence|reliab)[^.]{0,30}\\d\\s*(%|per ?cent))");
        for (const std::string* text : texts)
            if (RE2::PartialMatch(*text, promise))
                wrong(entry, "it promises a percentage of success: \"" + *text + '"');
    }

    void patterns(const Entry& entry, const std::vector<std::string>& texts) {
        RE2::Options options;
        options.set_log_errors(false);
        options.set_case_sensitive(false);
        for (const std::string& text : texts) {
            const RE2 pattern(text, options);
            if (!pattern.ok())
                wrong(entry, fmt::format("pattern \"{}\": {}", text, pattern.error()));
            else if (RE2::PartialMatch("", pattern))
                wrong(entry, fmt::format("pattern \"{}\" matches every line", text));
        }
    }

    void check_target(const GfxTarget& target) {
        check_entry(target);
        prose(target, {&target.note});
        matches(target, "name", target.name, "gfx[0-9a-f]{3,5}");
        matches(target, "last_rocm", target.last_rocm, "\\d+\\.\\d+(\\.\\d+)?");
        for (const std::string& version : target.gc_versions)
            matches(target, "gc_versions", version, "\\d+\\.\\d+\\.\\d+");
        for (const GfxTarget::Override& tried : target.overrides) {
            matches(target, "overrides value", tried.value, "\\d+\\.\\d+\\.\\d+");
            prose(target, {&tried.reason});
        }
        if (!target.name.empty() && target.kfd_version != 0 &&
            kfd_version_of(target.name) != target.kfd_version)
            wrong(target, fmt::format("kfd_version {} does not match {}, which has {}", target.kfd_version,
                                      target.name, kfd_version_of(target.name)));
    }

    void check_gpu(const GpuModel& gpu) {
        check_entry(gpu);
        for (const std::string& id : gpu.pci) {
            matches(gpu, "pci", id, "[0-9a-f]{4}:[0-9a-f]{4}(:[0-9a-f]{2})?");
            const std::string_view vendor = gpu.vendor == "amd"      ? "1002:"
                                            : gpu.vendor == "nvidia" ? "10de:"
                                                                     : "8086:";
            if (!gpu.vendor.empty() && !id.starts_with(vendor))
                wrong(gpu, fmt::format("pci {} does not belong to {}", id, gpu.vendor));
        }
        if (gpu.vendor == "amd" && !gpu.target.empty() && all_.gfx(gpu.target) == nullptr)
            wrong(gpu, fmt::format("target {} is not in gfx_targets.yaml", gpu.target));
        if (gpu.vendor == "nvidia")
            matches(gpu, "target", gpu.target, "sm_\\d{2,3}");
    }

    void check_targets(const Entry& entry, const std::vector<std::string>& targets, std::string_view kind) {
        for (const std::string& target : targets) {
            if (kind == "cuda")
                matches(entry, "target", target, "(sm|compute)_\\d{2,3}[af]?");
            else if (all_.gfx(target) == nullptr && !is_generic(target))
                wrong(entry, fmt::format("target {} is not in gfx_targets.yaml", target));
        }
    }

    void targets_or_architectures(const Entry& entry, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            const auto is_named = [&](const GfxTarget& known) {
                return known.name == name || known.architecture == name;
            };
            if (std::none_of(all_.gfx_targets.begin(), all_.gfx_targets.end(), is_named))
                wrong(entry, fmt::format("{} is not a target or architecture in gfx_targets.yaml", name));
        }
    }

    bool is_generic(std::string_view target) const {
        return std::any_of(all_.gfx_targets.begin(), all_.gfx_targets.end(),
                           [&](const GfxTarget& known) { return known.generic == target; });
    }

    void check_index(const WheelIndex& index) {
        check_entry(index);
        prose(index, {&index.note});
        matches(index, "url", index.url, "https://.*");
        matches(index, "rocm", index.rocm, "\\d+\\.\\d+(\\.\\d+)?");
        matches(index, "cuda", index.cuda, "\\d+\\.\\d+");
        matches(index, "minimum_driver", index.minimum_driver, "\\d+(\\.\\d+){0,2}");
        check_targets(index, index.targets, index.kind);
        words(index, "systems", index.systems, {"linux", "windows"});
        for (const auto& [key, targets] : {std::pair{"linux_only", &index.linux_only},
                                           {"untested_linux", &index.untested_linux},
                                           {"untested_windows", &index.untested_windows}})
            for (const std::string& target : *targets)
                if (std::find(index.targets.begin(), index.targets.end(), target) == index.targets.end())
                    wrong(index, fmt::format("the target {1} of {0} is not in targets", key, target));
        std::set<std::string_view> releases;
        for (const WheelIndex::Release& release : index.releases) {
            matches(index, "torch", release.torch, "\\d+\\.\\d+\\.\\d+");
            if (!releases.insert(release.torch).second)
                wrong(index, fmt::format("duplicate release {}", release.torch));
            for (const std::string& python : release.python)
                matches(index, "python", python, "\\d\\.\\d+t?");
            check_targets(index, release.targets, index.kind);
            date(index, fmt::format("checked of {}", release.torch), release.checked);
            if (all_.torch_release(release.torch) == nullptr)
                wrong(index, fmt::format("torch {} is not in torch_releases.yaml", release.torch));
        }
    }

    void check_torch_release(const TorchRelease& release) {
        check_entry(release);
        matches(release, "torch", release.torch, "\\d+\\.\\d+\\.\\d+");
        date(release, "released", release.released);
        if (!release.released.empty() && release.released > release.checked)
            wrong(release,
                  fmt::format("released {} after it was checked, {}", release.released, release.checked));
        matches(release, "numpy", release.numpy, "[<>=]+\\d+(\\.\\d+)*");
        for (const std::vector<std::string>* versions : {&release.torchvision, &release.torchaudio})
            for (const std::string& version : *versions)
                matches(release, "version", version, "\\d+\\.\\d+\\.\\d+");
    }

    void check_family(const VariableFamily& family) {
        check_entry(family);
        std::set<std::string_view> seen;
        for (const std::string& name : family.names) {
            if (!name.starts_with(family.prefix))
                wrong(family, fmt::format("the name {} does not begin with {}", name, family.prefix));
            if (!seen.insert(name).second)
                wrong(family, fmt::format("duplicate name {}", name));
        }
        for (const EnvironmentVariable& variable : all_.variables)
            if (variable.name.starts_with(family.prefix) && variable.name != family.prefix + '*' &&
                variable.status != "unreal" && !family.contains(variable.name))
                wrong(family, fmt::format("{} ({}:{}) is missing", variable.name, variable.origin.file,
                                          variable.origin.line));
    }

    void check_cause(const Cause& cause) {
        check_entry(cause);
        matches(cause, "slug", cause.slug, "[a-z0-9]+([.-][a-z0-9]+)*");
        matches(cause, "code", cause.code, "D\\d{3}");
        for (const std::string& remedy : cause.remedies)
            if (all_.remedy(remedy) == nullptr)
                wrong(cause, fmt::format("remedy {} is not defined in any remedies file", remedy));
        check_condition(cause.unless);
        words(cause, "vendors", cause.vendors, {"amd", "nvidia", "intel"});
        prose(cause, {&cause.title, &cause.sentence, &cause.detail});
        for (const std::string& text : cause.distinguishing_checks)
            prose(cause, {&text});
    }

    void check_signature(const Signature& signature) {
        check_entry(signature);
        matches(signature, "id", signature.id, "[a-z0-9_]+([.-][a-z0-9_]+)*");
        patterns(signature, signature.patterns);
        prose(signature, {&signature.title, &signature.means});
        check_condition(signature.unless);
        if (signature.candidates.empty() && !signature.harmless)
            wrong(signature, "no candidates, and it is not marked harmless");
        for (const Signature::Candidate& candidate : signature.candidates) {
            if (all_.cause(candidate.cause) == nullptr)
                mistakes_.add(candidate.origin,
                              fmt::format("cause {} is not defined in any causes file", candidate.cause));
            check_condition(candidate.when);
            prose(signature, {&candidate.because});
        }
    }

    void check_condition(const Condition& condition) {
        for (const Condition& part : condition.parts)
            check_condition(part);
        if (condition.key.empty() || !condition.parts.empty())
            return;
        if (const std::string what = mistake_in(condition); !what.empty())
            mistakes_.add(condition.origin, what);
    }

    void words(const Entry& entry, std::string_view key, const std::vector<std::string>& given,
               std::initializer_list<std::string_view> known) {
        for (const std::string& word : given)
            if (std::find(known.begin(), known.end(), word) == known.end())
                wrong(entry, fmt::format("{}: \"{}\" is not one of {}", key, word, fmt::join(known, ", ")));
    }

    void check_applicability(const Remedy& remedy) {
        const Applicability& applies = remedy.applies;
        words(remedy, "systems", applies.systems, {"linux", "wsl", "windows"});
        words(remedy, "vendors", applies.vendors, {"amd", "nvidia", "intel"});
        words(remedy, "containers", applies.containers,
              {"docker", "podman", "singularity", "kubernetes", "lxc", "systemd-nspawn", "other"});
        words(remedy, "environments", applies.environments, {"venv", "conda", "system", "user"});
        words(remedy, "rocm", applies.rocm, {"bundled", "packages", "system"});
        check_condition(applies.requires_known);
        if (remedy.otherwise.empty())
            return;
        std::set<std::string_view> seen; // a circular chain of replacements would never end
        for (const Remedy* next = &remedy; next != nullptr && !next->otherwise.empty();
             next = all_.remedy(next->otherwise))
            if (!seen.insert(next->id).second)
                return wrong(remedy, fmt::format("otherwise {} leads back to this remedy", remedy.otherwise));
        if (all_.remedy(remedy.otherwise) == nullptr)
            wrong(remedy, fmt::format("remedy {} is not defined in any remedies file", remedy.otherwise));
    }

    void check_remedy(const Remedy& remedy) {
        check_entry(remedy);
        check_applicability(remedy);
        matches(remedy, "id", remedy.id, "[a-z0-9]+(-[a-z0-9]+)*");
        matches(remedy, "risk", remedy.risk, "(none|low|medium|high)(: .+)?");
        if (remedy.cost < 0 || remedy.cost > 6)
            wrong(remedy, "cost must be from 0 to 6");
        if (remedy.automatic && (remedy.root || remedy.reboot || !remedy.reversible))
            wrong(remedy, "automatic, but it needs root or a reboot or cannot be undone");
        if (remedy.verify.empty() != remedy.expect.empty())
            wrong(remedy, "verify and expect must both be given or both be missing");
        for (const std::vector<std::string>* lines : {&remedy.commands, &remedy.undo})
            for (const std::string& line : *lines)
                placeholders(remedy, line);
        for (const std::string* line : {&remedy.title, &remedy.changes, &remedy.verify, &remedy.expect})
            placeholders(remedy, *line);
        prose(remedy, {&remedy.title, &remedy.changes, &remedy.expect, &remedy.risk});
    }

    void placeholders(const Remedy& remedy, const std::string& line) {
        static const RE2 placeholder("\\{([a-z_]+)\\}");
        re2::StringPiece rest(line);
        std::string name;
        while (RE2::FindAndConsume(&rest, placeholder, &name))
            if (!is_remedy_placeholder(name))
                wrong(remedy,
                      fmt::format("placeholder {{{}}} is not defined; see knowledge/README.md", name));
    }

    void check_alternative(const Alternative& alternative) {
        check_entry(alternative);
        matches(alternative, "priced", alternative.priced, "\\d{4}-(0[1-9]|1[0-2])");
        if ((alternative.price_once > 0 || alternative.price_per_hour > 0) && alternative.priced.empty())
            wrong(alternative, "a price without its date");
        if (!alternative.priced.empty() && alternative.priced > alternative.checked.substr(0, 7))
            wrong(alternative,
                  fmt::format("priced {} after it was checked, {}", alternative.priced, alternative.checked));
        targets_or_architectures(alternative, alternative.targets);
        prose(alternative, {&alternative.title, &alternative.detail});
    }

    const Knowledge& all_;
    Mistakes& mistakes_;
};

} // namespace

Mistakes find_mistakes(const std::filesystem::path& folder) {
    Mistakes mistakes;
    Knowledge knowledge;
    Knowledge templates;
    const std::vector<std::string> files = knowledge_files(folder);
    if (files.empty())
        mistakes.add({".", 1}, "the folder has no *.yaml files");
    for (const std::string& file : files) {
        try {
            read_entries(load_yaml_file(folder / file, file), file, is_template(file) ? templates : knowledge,
                         mistakes);
        } catch (const Error& error) {
            mistakes.add(origin_of(error, file), error.message());
        }
    }
    Checker checker(knowledge, mistakes);
    checker.check(knowledge);
    checker.check(templates);
    checker.check_unique(knowledge);
    return mistakes;
}

std::vector<std::string> check_knowledge(const std::filesystem::path& folder) {
    std::vector<std::string> lines;
    for (const Mistakes::Mistake& mistake : find_mistakes(folder).sorted())
        lines.push_back(to_string(mistake));
    return lines;
}

} // namespace rekindle::doctor
