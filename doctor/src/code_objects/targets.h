#pragma once
/// Names of GPU targets, and the place where a scan collects them.

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

/// The target in the id of a bundle entry: "gfx90a:sramecc+:xnack-" of
/// "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
/// "" for the host's entry. An id of no known form stays as it is.
std::string target_of_bundle_id(std::string_view id);

/// Target of a code object by its ELF flags. `abi_version` is EI_ABIVERSION: 1 is code object version 3, 2
/// version 4, and so on; before 4 the flags say less of XNACK and SRAM-ECC. "" for an unknown machine.
std::string target_of_elf_flags(std::uint32_t flags, std::uint8_t abi_version);

/// Whether two names mean the same target: processor, and the set of features.
bool same_target(std::string_view a, std::string_view b);

/// Splits "gfx90878" into a target that is known here and the rest: the longest known target that the text
/// begins with.
/// "" when none does.
std::string_view known_target_prefix(std::string_view text);

/// For the loops over a file's parts: a deadline, and what is noted when it has passed.
bool time_is_up(const std::optional<std::chrono::steady_clock::time_point>& deadline);
constexpr const char* time_is_up_note = "there was no time to read all of it";

/// What a scan found. Bounded: a hostile file cannot make it grow without end.
class TargetCollector {
  public:
    /// A target's code of so many bytes; 0 bytes: named, but there is no code, so the target is not
    /// contained.
    void add(std::string target, std::uint64_t bytes);
    /// Something that could not be read. The first few are kept word by word, the rest counted.
    void note(std::string text);
    LibraryTargets finish(std::string path, std::string part) const;

  private:
    std::map<std::string, std::uint64_t> bytes_;
    std::vector<std::string> notes_;
    std::size_t more_notes_ = 0;
};

} // namespace rekindle::doctor
