#pragma once
/// Names of GPU targets, and the collector of a scan.

#include <rekindle/doctor/facts.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rekindle::doctor {

/// The target in the id of a bundle entry: "gfx90a:sramecc+:xnack-" in
/// "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"; "" for the host's entry. An id of unknown form is
/// returned unchanged.
std::string target_of_bundle_id(std::string_view id);

/// Target of a code object, from its ELF flags. `abi_version` is EI_ABIVERSION: 1 is code object version 3,
/// 2 is version 4, and so on; before 4 the flags say less about XNACK and SRAM-ECC. "" for an unknown
/// machine.
std::string target_of_elf_flags(std::uint32_t flags, std::uint8_t abi_version);

/// Whether two names mean the same target: same processor and same set of features.
bool same_target(std::string_view a, std::string_view b);

/// Splits "gfx90878" into a known target and the rest: the longest known target that the text begins with;
/// "" when there is none.
std::string_view known_target_prefix(std::string_view text);

/// For the loops over a file's parts: a deadline, and the note that is added when it has passed.
bool time_is_up(const std::optional<std::chrono::steady_clock::time_point>& deadline);
constexpr const char* time_is_up_note = "the time limit was reached before all of it was read";

/// The result of a scan. Bounded: a hostile file cannot make it grow without limit.
class TargetCollector {
  public:
    /// Adds a target's code of this many bytes; 0 bytes: the target is named but has no code, so it is not
    /// contained.
    void add(std::string target, std::uint64_t bytes);
    /// Adds something that could not be read. The first few are kept verbatim, the rest are counted.
    void note(std::string text);
    LibraryTargets finish(std::string path, std::string part) const;

  private:
    std::map<std::string, std::uint64_t> bytes_;
    std::vector<std::string> notes_;
    std::size_t more_notes_ = 0;
};

} // namespace rekindle::doctor
