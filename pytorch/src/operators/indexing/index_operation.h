#pragma once
/// Moves or combines elements that index tensors select: one description for gather, scatter, index,
/// index_put, index_select and similar operators. The kernels are in kernels/indexing/indexing.slang and
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

/// Warns, as the CPU and CUDA do, if several elements of `self` share memory, for example after expand().
/// operation: the operator, such as "masked_fill_"; also: an indexing expression that calls this operator.
void warn_about_expanded(const at::Tensor& self, const char* operation, const char* also);

/// One operand of an IndexOperation: its first element and the bytes that may be accessed.
struct IndexedOperand {
    IndexedOperand(const at::TensorBase& tensor);
    /// For an operand that is not a plain tensor.
    IndexedOperand(std::uint64_t first, Access bytes) : address(first), access(bytes) {}
    std::uint64_t address;
    Access access;
};

/// An item is an element of the values. The indices, and the item's position along the other dimensions, give
/// its place in the target. All strides are in bytes. Out-of-range indices access nothing: reading gives
/// zero, writing leaves the target unchanged; see index_report.h.
class IndexOperation {
  public:
    static constexpr std::size_t maximum_selectors = 8, maximum_dimensions = 8;

    struct Dimension {
        std::int64_t size = 0, target_stride = 0, value_stride = 0;
        std::int64_t key_stride = 0; ///< of the key (the number of a place), for outer dimensions
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

    /// Pairs target.select(dim, index[i]) with values.select(dim, i). index has one dimension, or none (a
    /// single index).
    static IndexOperation along(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                const at::Tensor& values);
    /// Pairs target[…, index[item], …] with values[item], as in gather and scatter. Each element of the index
    /// is an item.
    static IndexOperation elements(const at::Tensor& target, std::int64_t dim, const at::Tensor& index,
                                   const at::Tensor& values);
    /// Pairs target.flatten()[index] with values, which have the index's shape. The target is contiguous.
    /// Negative indices count from the end.
    static IndexOperation flat(const at::Tensor& target, const at::Tensor& index, const at::Tensor& values);
    /// PyTorch's advanced indexing: operands 0 and 1 are the result and the indexed tensor (reads_target) or
    /// the indexed tensor and the values; the others are int64 indices. indexed_strides: in bytes. Negative
    /// indices count from the end.
    static IndexOperation of_iterator(const at::TensorIteratorBase& iterator, at::IntArrayRef indexed_sizes,
                                      at::IntArrayRef indexed_strides, bool reads_target);

    /// Adds a dimension along which an index varies (or each position is a separate place), slowest first.
    void add_outer(const Dimension& dimension);
    /// Like add_outer, but keeps dimensions of size 1, for callers that address dimensions by number.
    void add_dimension(const Dimension& dimension) { outer_.push_back(dimension); }
    /// Adds a dimension along which no index varies.
    void add_inner(const Dimension& dimension);
    void add_selector(const at::TensorBase& index, std::int64_t size, std::int64_t stride,
                      std::int64_t key_stride);
    void set_keys(std::int64_t keys) { keys_ = keys; }
    /// Skips items with this index, without a report.
    void ignore(std::int64_t index) { ignored_ = index; }
    /// Lets negative indices count from the end (-1 is the last place); otherwise they are out of range.
    void wrap() { wraps_ = true; }

    /// Reads: values[item] = target[place of the item].
    void gather(const IndexedOperand& target, const IndexedOperand& values) const;
    /// Writes: target[place of the item] = values[item]. If several items have the same place, the last one
    /// wins. unique: there is at most one item per place, or their values are equal.
    void scatter(const IndexedOperand& target, const IndexedOperand& values, bool unique) const;
    /// Combines the target's element at each place with all values for the place, in their order. dtype: that
    /// of both operands.
    void accumulate(const IndexedOperand& target, const IndexedOperand& values, at::ScalarType dtype,
                    IndexReduction reduction) const;

    /// The parameters for kernels of this family that use no index and operate on elements of `target` and
    /// `values`. join: dimensions, which must be inner ones, may be merged and reordered.
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
    Dimensions outer_, inner_; ///< fastest first after `simplified`
    c10::SmallVector<Selector, 2> selectors_;
    std::int64_t keys_ = 0;
    std::optional<std::int64_t> ignored_;
    bool wide_ = true;
    bool wraps_ = false;
};

} // namespace rvk
