#pragma once
/// Weighted sums along the last dimensions of a tensor (kernels/windows/resample.slang): interpolation,
/// average pooling and the gradients of both and of padding.

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace rvk {

/// Which source positions along an axis contribute to each result position, and with what weights.
class AxisTable {
  public:
    /// Result position i takes source position i.
    static AxisTable identity(std::int64_t size);
    /// Result position i takes source position of(i) with weight 1.
    static AxisTable of_places(std::int64_t result_size, const std::function<std::int64_t(std::int64_t)>& of);

    /// Begins the entries of the next result position.
    void begin_place() { starts_.push_back(static_cast<std::uint32_t>(places_.size())); }
    void add(std::int64_t place, double weight) {
        places_.push_back(static_cast<std::uint32_t>(place));
        weights_.push_back(weight);
    }
    /// The table of the gradient: which result positions each source position contributed to.
    AxisTable transposed(std::int64_t source_size) const;
    void scale(double factor);
    /// The same sums as two tables in sequence: parts with at most this many entries, and the sums of the
    /// parts.
    std::pair<AxisTable, AxisTable> divided(std::int64_t most_entries) const;

    std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()); }
    std::uint32_t longest() const; ///< the most entries for one position
    /// In the form that the kernel reads: Weight is float or double.
    template <class Weight>
    std::vector<std::byte> packed() const;

  private:
    std::vector<std::uint32_t> starts_, places_;
    std::vector<double> weights_;
};

/// result = the sums of source given by the tables, which apply to the last dimensions (the last table to the
/// last one). Both have the same leading dimensions. Throws c10::NotImplementedError unless the dtype is
/// floating-point.
void resample(const at::Tensor& result, const at::Tensor& source, const std::vector<AxisTable>& tables);

} // namespace rvk
