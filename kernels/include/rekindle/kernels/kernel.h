#pragma once
/// The description of a kernel for the host: data only. Each entry of kernels/kernels.json becomes one
/// Kernel for each of its variants and dtypes.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace rekindle::kernels {

/// Features that a kernel needs beyond the minimum that every accepted device has (runtime/device.h: required
/// features).
enum class Feature : std::uint32_t {
    float16_arithmetic = 1u << 0,
    float64 = 1u << 1,
    storage_16bit = 1u << 2,
    storage_8bit = 1u << 3,
    int8_arithmetic = 1u << 4,
    int64_atomics = 1u << 5,
    subgroup_basic = 1u << 6,
    subgroup_arithmetic = 1u << 7,
    subgroup_shuffle = 1u << 8,
    cooperative_matrix = 1u << 9, ///< matrix units: float16 factors, float32 sums, in one of the shapes below
    subgroup_size_control = 1u << 10,
    shared_48k = 1u << 11,      ///< 49,152 bytes of shared memory; the minimum is 32,768
    shared_64k = 1u << 12,      ///< 65,536 bytes
    matrix_16x16x16 = 1u << 13, ///< shapes of matrix units: rows x columns x depth
    matrix_8x16x16 = 1u << 14,
    matrix_8x8x16 = 1u << 15,
    matrix_8x8x8 = 1u << 16,
    bfloat16_units = 1u << 17, ///< the preferred shape takes bfloat16 factors, too
    /// Four adjacent lanes share two rows of a 16 x 16 matrix: lane l has columns 2 (l % 4) + {0, 1, 8, 9} of
    /// row l / 4, then of row l / 4 + 8; sums and the first factor have the same layout. A factor takes four
    /// registers of a lane, so that the largest tiles fit, which they do not on RDNA3.
    matrix_quads = 1u << 18,
    /// Lane l holds eight elements of column l % T of a T x T matrix of sums (T: 16 or 8). Lanes 0 to T - 1
    /// hold the same rows in the same order, and so do lanes T to 2 T - 1. RDNA3, RDNA4 and lavapipe have
    /// this layout.
    matrix_columns = 1u << 19,
};

/// A set of features. name(Feature) gives the name that kernels.json uses, such as "float16_arithmetic".
class Features {
  public:
    constexpr Features() = default;
    constexpr explicit Features(std::uint32_t bits) : bits_(bits) {}
    constexpr Features(Feature feature) : bits_(static_cast<std::uint32_t>(feature)) {}
    constexpr Features(std::initializer_list<Feature> list) {
        for (const Feature f : list)
            bits_ |= static_cast<std::uint32_t>(f);
    }
    constexpr bool contains(Features other) const { return (bits_ & other.bits_) == other.bits_; }
    constexpr Features without(Features other) const { return Features(bits_ & ~other.bits_); }
    constexpr Features operator|(Features other) const { return Features(bits_ | other.bits_); }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr std::uint32_t bits() const { return bits_; }
    friend constexpr bool operator==(Features, Features) = default;

  private:
    std::uint32_t bits_ = 0;
};

/// The name of a single feature in kernels.json, such as "float64".
std::string_view name(Feature feature) noexcept;
/// The feature with that name, or no feature if there is none.
Features feature_named(std::string_view name) noexcept;
/// Calls f(Feature) for each feature of the set.
template <class F>
void for_each_feature(Features features, F&& f) {
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
        if ((features.bits() & bit) != 0)
            f(static_cast<Feature>(bit));
}

/// A specialization constant as the module declares it; all are 32-bit unsigned numbers.
struct SpecializationConstant {
    std::string_view name;
    std::uint32_t id;
    std::uint32_t initial;
};

/// The value that a pipeline gives to one constant. Constants without a value keep `initial`.
struct ConstantValue {
    std::string_view name;
    std::uint32_t value;
};

/// A struct of all specialization constants of a family, with their initial values: SoftmaxConstants
/// (generated into <rekindle/kernels/families/FAMILY.h>). list() is in the order of Kernel::constants.
template <class C>
concept ConstantsStruct = requires(const C& constants) { std::span<const ConstantValue>(constants.list()); };

/// A field of such a struct that has no initial value: the dtypes of the family have different ones.
struct RequiredConstant {
    constexpr RequiredConstant(std::uint32_t given) : value(given) {}
    constexpr operator std::uint32_t() const { return value; }
    std::uint32_t value;
};

/// A set of constants that the host can choose; the audit and the pipeline matrix compile it.
struct AuditCase {
    std::string_view name; ///< "54-128-64-1, batch 32"
    std::span<const ConstantValue> constants;
    Features needs; ///< beyond the kernel's: more shared memory with these constants
};

/// One entry point of one SPIR-V module. Lives as long as the process; its name identifies it.
struct Kernel {
    std::string_view name; ///< entry point, unique in the whole table
    std::string_view
        family; ///< the module: the name of the Slang file, with the dtype's suffix if it is not the first
    std::string_view brief; ///< one line for docs/reference/kernels.md
    Features needs;
    std::uint32_t threads;                             ///< invocations per workgroup
    std::uint32_t parameter_bytes;                     ///< size of the push-constant block, at most 128
    std::span<const std::uint32_t> module;             ///< SPIR-V words of the family
    std::span<const SpecializationConstant> constants; ///< of the family
    std::span<const AuditCase> audit; ///< at least one case; without constants, one without values
};

/// A kernel whose parameters have type P (generated into <rekindle/kernels/families/FAMILY.h>). P::Constants
/// is the struct of the family's specialization constants, if it has any.
template <class P>
struct TypedKernel {
    const Kernel& kernel;
    using Parameters = P;
};

/// Kernels in a fixed order: a range of const Kernel&.
class KernelList {
  public:
    class Iterator {
      public:
        using value_type = Kernel;
        using difference_type = std::ptrdiff_t;
        constexpr Iterator() = default;
        constexpr explicit Iterator(const Kernel* const* at) : at_(at) {}
        constexpr const Kernel& operator*() const { return **at_; }
        constexpr Iterator& operator++() {
            ++at_;
            return *this;
        }
        constexpr Iterator operator++(int) { return Iterator(at_++); }
        friend constexpr bool operator==(Iterator, Iterator) = default;

      private:
        const Kernel* const* at_ = nullptr;
    };
    constexpr explicit KernelList(std::span<const Kernel* const> kernels) : kernels_(kernels) {}
    constexpr Iterator begin() const { return Iterator(kernels_.data()); }
    constexpr Iterator end() const { return Iterator(kernels_.data() + kernels_.size()); }
    constexpr std::size_t size() const { return kernels_.size(); }
    constexpr bool empty() const { return kernels_.empty(); }
    constexpr const Kernel& operator[](std::size_t i) const { return *kernels_[i]; }

  private:
    std::span<const Kernel* const> kernels_;
};

/// All kernels, by module and then in the table's order.
KernelList all() noexcept;
/// The kernel with that name, or null.
const Kernel* find(std::string_view name) noexcept;
/// The version of the Slang compiler that compiled the modules, such as "2026.14.1".
std::string_view slang_version() noexcept;

} // namespace rekindle::kernels
