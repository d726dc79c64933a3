#pragma once
/// The keys that conditions in the knowledge may use.

#include <rekindle/doctor/condition.h>

#include <array>
#include <string>
#include <string_view>

namespace rekindle::doctor {

/// How a key is compared.
enum class KeyKind { words, pattern, version, number, flag, variable, log };

/// What to ask a person for: the first of these that is for the person's host (log/questions.h); "" for none.
using Ask = std::array<std::string_view, 3>;

inline constexpr Ask ask_kernel_log{"kernel log: the lines of sudo dmesg that name amdgpu, kfd or nvidia",
                                    "kernel log: the lines of sudo dmesg that name amdgpu or kfd",
                                    "kernel log: the lines of sudo dmesg that name nvidia or NVRM"};
inline constexpr Ask ask_variables{
    "env: the variables that affect GPU software (env | grep -E 'HSA|HIP|ROC|CUDA|TORCH|MIOPEN|NCCL')",
    "env: the variables that affect GPU software (Get-ChildItem Env:)"};

/// The keys that conditions may use. "env." and "package." stand for env.NAME and package.NAME.
struct KeyInfo {
    std::string_view name;
    KeyKind kind = KeyKind::words;
    Ask ask; ///< "gfx: the GPU's gfx target (rocminfo prints it)"; all empty when a person cannot know it
};
/// Returns nullptr if there is no such key.
const KeyInfo* condition_key(std::string_view key);

/// What is wrong with the condition, including its parts ("unknown condition \"gpx\"", "not a version
/// range: \"2.x\""); "" when nothing is.
std::string mistake_in(const Condition& condition);

} // namespace rekindle::doctor
