#pragma once
/// The doctor's knowledge, as data: knowledge/*.yaml, embedded, or a folder given by --knowledge. Every
/// entry says where it comes from and when that was checked. The fields are described in
/// knowledge/README.md.

#include <rekindle/doctor/condition.h>
#include <rekindle/doctor/finding.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The evidence for an entry.
struct Backing {
    std::string kind;      ///< "source", "thread", "documentation", "measured", "inferred"
    std::string reference; ///< repository, path and version; or thread number
    std::string note;
};

/// The fields that every entry has.
struct Entry {
    Origin origin;
    std::vector<Backing> evidence; ///< at least one
    std::string checked;           ///< date, YYYY-MM-DD
};

struct GfxTarget : Entry {
    std::string name;                     ///< "gfx1010"
    std::string architecture;             ///< "RDNA1"
    int kfd_version = 0;                  ///< gfx_target_version, 100100
    std::vector<std::string> gc_versions; ///< ip_discovery, "10.1.10"
    std::string generic;                  ///< "gfx10-1-generic", "" for none
    bool integrated = false;              ///< exists only as an integrated GPU
    std::string last_rocm; ///< newest ROCm whose official wheels still support it, including the libraries'
                           ///< data, "6.3"; "" when it is still supported
    std::string note;
    /// Overrides that were tried, with their results.
    struct Override {
        std::string value;   ///< "10.3.0"
        std::string verdict; ///< "safe", "risky", "unsafe", "unneeded"
        std::string reason;
    };
    std::vector<Override> overrides;
};

struct GpuModel : Entry {
    std::string name;             ///< "Radeon RX 5600 XT"
    std::string vendor;           ///< "amd", "nvidia", "intel"
    std::vector<std::string> pci; ///< "1002:731f:ca", or "1002:1586" when this is every revision
    std::string target;           ///< "gfx1010", "sm_61"
    double memory_gib = 0;        ///< 0: shared with the system, or unknown
    bool integrated = false;
};

/// A source of torch wheels, and the contents of its wheels.
struct WheelIndex : Entry {
    std::string id;   ///< "rocm6.2", "cu128", "cpu", "therock"
    std::string kind; ///< "rocm", "cuda", "cpu", "xpu"
    std::string url;
    std::string rocm;           ///< "6.2", or ""
    std::string cuda;           ///< "12.8", or ""
    std::string minimum_driver; ///< NVIDIA driver for Linux, "525.60.13"; ""
    std::string needs_kernel;   ///< oldest kernel driver, where known
    struct Release {
        std::string torch;                ///< "2.5.1"
        std::vector<std::string> python;  ///< "3.9" …; empty: not recorded
        std::vector<std::string> targets; ///< of this release, where they differ from the index's
        std::string checked;              ///< where it differs from the index's date; ""
    };
    std::vector<Release> releases;       ///< oldest first
    std::vector<std::string> systems;    ///< "linux", "windows": where its wheels run; empty: not recorded
    bool files_only = false;             ///< a folder of files, for --find-links, not for --index-url
    std::vector<std::string> targets;    ///< of the newest wheel there
    bool device_packages = false;        ///< targets are installed as torch[device-gfxNNNN]
    std::vector<std::string> linux_only; ///< targets that the wheels for Windows have no code for
    std::vector<std::string>
        untested_linux; ///< targets that are built for Linux but not tested by the vendor
    std::vector<std::string> untested_windows; ///< the same for Windows
    std::string note;
    const std::vector<std::string>& targets_of(std::string_view torch) const;
    /// Whether there are wheels for "linux" or "windows" with code for `target`, as far as is recorded.
    bool has_wheels_on(std::string_view system, std::string_view target) const;
    /// Whether the vendor builds the wheels for that system and target without testing them.
    bool untested_on(std::string_view system, std::string_view target) const;
};

/// A release of torch and the companion packages that go with it.
struct TorchRelease : Entry {
    std::string torch;                    ///< "2.9.1"
    std::string released;                 ///< date, YYYY-MM-DD; "" where it is not recorded
    std::vector<std::string> torchvision; ///< versions that go with it, the one to install first
    std::vector<std::string> torchaudio;  ///< the same; empty: none
    std::string numpy; ///< range of the NumPy versions that its wheels work with, "<2"; "": no limit is known
    std::string note;
};

/// A reason why training fails. The slug is the stable name, the code the stable number.
struct Cause : Entry {
    std::string slug;
    std::string code;     ///< "D017"
    std::string title;    ///< a few words for a heading
    std::string sentence; ///< the explanation in one sentence
    std::string detail;   ///< how it happens and how to confirm it
    Severity severity = Severity::problem;
    std::vector<std::string> remedies; ///< ids, best first
    Condition unless;                  ///< never named for a log where this is known to hold
    /// Vendors of the GPUs that can have it: "amd", "nvidia", "intel"; empty: all.
    std::vector<std::string> vendors;
    std::vector<std::string> distinguishing_checks; ///< checks that distinguish it from other causes
    std::vector<std::string> wrong_advice;          ///< common advice that does not help, with the reason
};

struct EnvironmentVariable : Entry {
    std::string name;      ///< "HSA_OVERRIDE_GFX_VERSION"; a trailing * matches any ending
    std::string component; ///< "ROCR", "HIP", "PyTorch", …
    std::string status;    ///< "real", "unreal", "build-time"
    std::string meaning;
    std::string effect_when; ///< "" or a condition in words: "only MI300", "torch 2.6: not read on ROCm"
    /// Names of gfx targets or architectures on which it can have an effect; empty: all.
    std::vector<std::string> effective_on;
    std::string advice;          ///< what the doctor says when it is set
    bool worth_reporting = true; ///< collectors report it with the facts
    /// A value that does not do what people set it for.
    struct Misuse {
        std::string value;   ///< RE2 that the whole value matches; "": any value, or none
        std::string claimed; ///< RE2: what the text around the setting must say; "": it is always a mistake
        std::string unless;  ///< RE2: what the text must not say; "": anything
        std::string verdict; ///< "false", "harmful", "no-effect"
        std::string correction;
    };
    std::vector<Misuse> misuses;
};

/// All names that begin with a prefix and exist.
struct VariableFamily : Entry {
    std::string prefix;             ///< "NCCL_", "amdgpu."
    std::string component;          ///< what reads them: "NCCL", "the kernel module amdgpu"
    std::string what;               ///< "variable", "parameter"
    bool shared = false;            ///< other programs have names with this prefix, too
    std::vector<std::string> names; ///< a trailing * matches any ending

    bool contains(std::string_view name) const;
    /// Whether the name differs from an existing one by a character or two.
    bool has_misspelling(std::string_view name) const;
    /// Up to two existing names that were probably meant, the likelier one first; empty if none is similar.
    std::vector<std::string> similar_to(std::string_view name) const;
};

/// The hosts that a remedy's commands are for. An empty list accepts all; an unknown property of a host
/// excludes nothing except through `requires_known`.
struct Applicability {
    std::vector<std::string> systems;       ///< "linux", "wsl", "windows"; never empty
    std::vector<std::string> vendors;       ///< of the GPUs that train: "amd", "nvidia", "intel"
    std::vector<std::string> distributions; ///< os_id: "ubuntu"
    std::vector<std::string> containers;    ///< "docker", "podman"
    std::vector<std::string> environments;  ///< kind of Python environment: "conda"
    std::vector<std::string> rocm; ///< where torch's ROCm comes from: "bundled", "packages", "system"
    /// Where the commands are typed: "here", "host" (also the host of a container), "container" (on its host,
    /// to start it again), "windows" (outside of WSL).
    std::string place = "here";
    std::string vulkan; ///< "works" or "missing": whether the GPU must have a Vulkan driver; "" for either
    Condition requires_known; ///< must be known to hold
};

/// One step that removes a cause.
struct Remedy : Entry {
    std::string id;
    Applicability applies;
    std::string otherwise; ///< remedy that replaces it where it does not apply or a value is not known; ""
    std::string title;
    std::string changes;               ///< what it changes on the host
    std::vector<std::string> commands; ///< with {placeholders}; one line each
    std::string verify;                ///< command
    std::string expect;                ///< the line that it then prints
    std::vector<std::string> undo;
    double minutes = 0;
    std::string risk; ///< "none", "low", "medium", "high", with a reason after a colon
    bool root = false;
    bool reboot = false;
    bool reversible = true;
    bool automatic = false; ///< --fix may run it: reversible, without root, only in a new environment
    int cost = 0; ///< order: 0 inspect, 1 set a variable, 2 new environment, 3 container, 4 system package, 5
                  ///< reboot, 6 hardware
};

struct Alternative : Entry {
    std::string id;
    std::string title;
    std::string kind; ///< "cpu", "native-wheel", "vulkan", "opencl", "cloud", "card", "distribution"
    std::string detail;
    double price_per_hour = 0; ///< US dollars; 0: none
    double price_once = 0;
    std::string priced;               ///< date of the price, YYYY-MM
    std::vector<std::string> targets; ///< gfx names or architectures that it is for; empty: all
};

/// What a release of a Linux distribution ships. An empty field was not recorded.
struct Distribution : Entry {
    std::string name;    ///< "Ubuntu 24.04"
    std::string os_id;   ///< of /etc/os-release, "ubuntu"
    std::string release; ///< VERSION_ID, "24.04"; "rolling"
    std::string kernel;
    std::string mesa;   ///< of the package with RADV
    std::string vulkan; ///< highest Vulkan version of its RADV, "1.4"
    std::string rocm;   ///< packages of its own archive; "none" where it has none
    std::string nvidia; ///< packages of its own archive
    std::string python; ///< of the command python3
    std::string glibc;
    std::string note;
};

struct ContainerImage : Entry {
    std::string tag; ///< "rocm/pytorch:rocm6.3.3_ubuntu24.04_py3.12_pytorch_release_2.4.0"
    std::string rocm;
    std::string torch;
    std::string python;
    std::string os;
};

/// A common statement, for --review and --explain.
struct Claim : Entry {
    std::string id;
    std::string kind; ///< kind of its mark in a review: "claim" (also when empty), "variable", "command",
                      ///< "image", "version pair", "gfx target"
    /// RE2; any of them may match, in one line of the text or in a paragraph.
    std::vector<std::string> patterns;
    std::vector<std::string> about; ///< RE2: what the document must mention, any of them; empty: anything
    /// RE2: the block with the claim, or the heading above it, must match one of these; empty: always
    /// applies.
    std::vector<std::string> under;
    std::string where; ///< "container": only in a Dockerfile, compose file or manifest; "host": only outside
    std::string says;  ///< the claim in our words
    std::string verdict; ///< "true", "false", "harmful", "no-effect", "unknown"
    std::string correction;
};

/// The text of a message and what it can mean.
struct Signature : Entry {
    std::string id;
    std::string title;
    /// RE2, case-insensitive, matched against one line; any of them may match.
    std::vector<std::string> patterns;
    std::string means; ///< the meaning of the line, not its cause
    bool harmless = false;
    bool lasting = false;    ///< the run stays wrong even if it continues after such a line: a loss of NaN
    bool last_error = false; ///< counts only if it is the log's last error; a later error has another reason
    Condition unless;        ///< if this holds, the lines do not count
    struct Candidate {
        std::string cause;
        std::string strength; ///< "decisive", "strong", "likely", "possible"
        Condition when;       ///< empty key: always
        std::string because;
        Origin origin;
    };
    std::vector<Candidate> candidates;
    std::vector<std::string> ask; ///< facts that would help, as --facts keys or in words
};

/// All of the knowledge. Immutable once loaded; threads may share it.
class Knowledge {
  public:
    std::vector<GfxTarget> gfx_targets;
    std::vector<GpuModel> gpus;
    std::vector<WheelIndex> indexes;
    std::vector<TorchRelease> torch_releases;
    std::vector<Cause> causes;
    std::vector<Signature> signatures;
    std::vector<EnvironmentVariable> variables;
    std::vector<VariableFamily> variable_families;
    std::vector<Remedy> remedies;
    std::vector<Alternative> alternatives;
    std::vector<ContainerImage> images;
    std::vector<Distribution> distributions;
    std::vector<Claim> claims;
    /// The literal texts that patterns for logs need, by pattern: groups of lowercase texts, of each of which
    /// a matching line contains at least one. The embedded knowledge contains them, so that a log can be
    /// searched at once; other patterns are analyzed when they are used.
    std::map<std::string, std::vector<std::vector<std::string>>, std::less<>> needed_texts;

    const GfxTarget* gfx(std::string_view name) const;
    /// Whether the target is known and belongs to an integrated GPU.
    bool is_integrated(std::string_view gfx_name) const;
    /// `pci_id` "1002:731f"; `revision` "ca", or "" when unknown (then a model whose entry has no revision,
    /// or nullptr where the revision decides).
    const GpuModel* gpu(std::string_view pci_id, std::string_view revision) const;
    /// The model that a text names ("AMD Radeon RX 7900 XT [Navi 31]"): the longest name contained in it;
    /// nullptr when there is none.
    const GpuModel* gpu_named(std::string_view text) const;
    const WheelIndex* index(std::string_view id) const;
    /// "2.9.1", with or without a local part ("+rocm6.4").
    const TorchRelease* torch_release(std::string_view torch) const;
    const Cause* cause(std::string_view slug) const;
    const Signature* signature(std::string_view id) const;
    const EnvironmentVariable* variable(std::string_view name) const;
    /// The family whose prefix begins the name; nullptr if there is none.
    const VariableFamily* variable_family(std::string_view name) const;
    const Remedy* remedy(std::string_view id) const;
    /// Whether code for `target` ("gfx1100", "gfx90a:xnack-", "gfx10-3-generic") runs on `gfx`.
    bool covers(std::string_view target, std::string_view gfx) const;
    bool covers(const std::vector<std::string>& targets, std::string_view gfx) const;
};

/// The embedded knowledge. Never fails (a test reads it strictly).
const Knowledge& embedded_knowledge();
/// Reads a folder of the same shape. Throws usage_error for the first mistake, as `file:line: what`.
Knowledge load_knowledge(const std::filesystem::path& folder);
/// Every mistake in the folder, as "file:line: what"; empty when there is none. Checks names, references
/// between entries, patterns, dates, evidence and codes.
std::vector<std::string> check_knowledge(const std::filesystem::path& folder);

} // namespace rekindle::doctor
