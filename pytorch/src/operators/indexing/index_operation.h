#pragma once
/// Moves or combines elements that index tensors select: one description for gather, scatter, index,
/// index_put, index_select and their relatives, whose kernels are kernels/indexing/indexing.slang and
/// kernels/indexing/accumulate.slang.

#include "../../dispatch/launch.h"

#include <rekindle/kernels/families/indexing.h>

#include <ATen/core/Tensor.h>
#include <array>
#include <c10/util/SmallVector.h>
#include <cstdint>
#include <optional>

namespace rvk {

/// How several values for the same place are combined.
enum class IndexReduction : std::uint32_t { sum = 0, product = 1, maximum = 2, minimum = 3 };

/// Warns, as the CPU and CUDA do, if `self` has several elements at one place, such as one that was expanded.
/// operation: such as "masked_fill_"; also: the indexing that calls it.
void warn_about_expanded(const at::Tensor& self, const char* operation, const char* also);

/// One operand of an IndexOperation: its first element and the bytes that may be accessed.
struct IndexedOperand {
    IndexedOperand(const at::TensorBase& tensor);
    /// For an operand that is not a plain tensor.
    IndexedOperand(std::uint64_t first, Access bytes) : address(first), access(bytes) {}
    std::uint64_t address;
    Access access;
};

/// Items are the elements of the values. Each has a place in the target, given by the indexes and by its own
/// position along the other dimensions. All strides are in bytes. Indexes out of range access nothing:
/// reading gives zero, writing leaves the target unchanged; see index_report.h.
class IndexOperation {
  public:
    static constexpr std::size_t maximum_selectors = 8, maximum_dimensions = 8;

    struct Dimension {
        std::int64_t size = 0, target_stride = 0, value_stride = 0;
        std::int64_t key_stride = 0; ///< in keys; for dimensions that an index varies over
        std::array<std::int64_t, maximum_selectors> index_strides{};
    };
    /// One index tensor: int64 or int32 (the same for all of an operation).
    struct Selector {
        std::uint64_t address = 0; ///< without the poison bit
        Access access{};
        std::int64_t size = 0;   ///< of the indexed dimension
        std::int64_t stride = 0; ///< of the target along the indexed dimension
        std::int64_t key_stride = 0;
    };

    IndexOperation(c10::Device device, std::int64_t element_bytes)
        : device_(device), element_bytes_(element_bytes) {}

    /// target.select(dim, index[i]) against values.select(dim, i): index has one dimension (or none: one
    /// index).
    static IndexOperation along(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                const at::Tensor& values);
    /// target at (…, index[item], …) against values[item]: gather and scatter; items are the index's
    /// elements.
    static IndexOperation elements(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                   const at::Tensor& values);
    /// target.flatten()[index] against values; target contiguous, values of the index's shape. Wraps.
    static IndexOperation flat(const at::Tensor& target, const at::Tensor& index, const at::Tensor& values);
    /// PyTorch's advanced indexing: operands 0 and 1 are the result and the indexed tensor (reads_target) or
    /// the indexed tensor and the values; the others are int64 indexes. indexed_strides in bytes. Wraps.
    static IndexOperation of_iterator(const at::TensorIteratorBase& iterator, at::IntArrayRef indexed_sizes,
                                      at::IntArrayRef indexed_strides, bool reads_target);

    /// Dimensions that an index varies over (or whose positions are separate places), the slowest first.
    void add_outer(const Dimension& dimension);
    /// Like add_outer, but keeps dimensions of size 1, for callers that address dimensions by number.
    void add_dimension(const Dimension& dimension) { outer_.push_back(dimension); }
    /// Dimensions that no index varies over.
    void add_inner(const Dimension& dimension);
    void add_selector(const at::TensorBase& index, std::int64_t size, std::int64_t stride,
                      std::int64_t key_stride);
    void set_keys(std::int64_t keys) { keys_ = keys; }
    /// An index value that is skipped without a report.
    void ignore(std::int64_t index) { ignored_ = index; }
    /// Negative indexes count from the end, so that -1 is the last place; otherwise they are out of range.
    void wrap() { wraps_ = true; }

    /// values = target at the places.
    void gather(const IndexedOperand& target, const IndexedOperand& values) const;
    /// target at the places = values. Of several values for one place the last one wins; `unique` says that
    /// there is at most one, or that they are equal.
    void scatter(const IndexedOperand& target, const IndexedOperand& values, bool unique) const;
    /// target at the places = target combined with all values for the place, in the order of the values.
    /// dtype: of both.
    void accumulate(const IndexedOperand& target, const IndexedOperand& values, at::ScalarType dtype,
                    IndexReduction reduction) const;

    /// For kernels of the family that need no index: the parameters of an operation on elements of `target`
    /// and `values`. join: dimensions may be merged and reordered (added as inner ones).
    ParametersWithBlock<kernels::IndexingParameters> describe(std::uint64_t target, std::uint64_t values,
                                                              bool join) const;

  private:
    using Dimensions = c10::SmallVector<Dimension, maximum_dimensions>;
    static std::int64_t count(const Dimensions& dimensions);
    bool empty() const { return count(outer_) == 0 || count(inner_) == 0; }
    /// Orders and merges dimensions; merges elements into larger ones if `may_widen` and the addresses allow
    /// it.
    IndexOperation simplified(bool may_widen, std::uint64_t target, std::uint64_t values) const;
    void widen(std::uint64_t target, std::uint64_t values);
    UploadedBlock uploaded_layout() const;
    template <class P>
    ParametersWithBlock<P> parameters(std::uint64_t target, std::uint64_t values) const;
    kernels::IndexingConstants constants(std::uint32_t operation) const;
    c10::SmallVector<Access, 12> accesses(std::initializer_list<Access> operands) const;

    c10::Device device_;
    std::int64_t element_bytes_;
    Dimensions outer_, inner_; ///< the fastest first once simplified
    c10::SmallVector<Selector, 2> selectors_;
    std::int64_t keys_ = 0;
    std::optional<std::int64_t> ignored_;
    bool wide_ = true;
    bool wraps_ = false;
};

} // namespace rvk
