#pragma once
/// Weighted sums along the last dimensions of a tensor (kernels/windows/resample.slang): interpolation,
/// average pooling and the gradients of both and of padding.

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace rvk {

/// Which places of an axis of the source make each place of the result, and with what weights.
class AxisTable {
  public:
    /// Every place is itself.
    static AxisTable identity(std::int64_t size);
    /// The result's place i is the source's place of(i), once.
    static AxisTable of_places(std::int64_t result_size, const std::function<std::int64_t(std::int64_t)>& of);

    /// Begins the entries of the next place of the result.
    void begin_place() { starts_.push_back(static_cast<std::uint32_t>(places_.size())); }
    void add(std::int64_t place, double weight) {
        places_.push_back(static_cast<std::uint32_t>(place));
        weights_.push_back(weight);
    }
    /// The table of the gradient: which places of the result each place of the source made.
    AxisTable transposed(std::int64_t source_size) const;
    void scale(double factor);
    /// The same sums in two tables, one after the other: parts of at most so many entries, and the sums of
    /// the parts.
    std::pair<AxisTable, AxisTable> divided(std::int64_t most_entries) const;

    std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()); }
    std::uint32_t longest() const; ///< most entries of one place
    /// As the kernel reads it: Weight is float or double.
    template <class Weight>
    std::vector<std::byte> packed() const;

  private:
    std::vector<std::uint32_t> starts_, places_;
    std::vector<double> weights_;
};

/// result = the sums of source that the tables say; tables for the last dimensions, the last table for the
/// last one. Both have the same leading dimensions. Floating-point dtypes, else c10::NotImplementedError.
void resample(const at::Tensor& result, const at::Tensor& source, const std::vector<AxisTable>& tables);

} // namespace rvk
