#include "tensor_list.h"

namespace rvk {

bool fit_one_launch(std::initializer_list<at::TensorList> lists) {
    const at::TensorList first = *lists.begin();
    if (first.empty())
        return false;
    const auto dtype = first[0].scalar_type();
    const auto device = first[0].device();
    if (!device.is_privateuseone() || (dtype != at::kFloat && dtype != at::kHalf && dtype != at::kBFloat16))
        return false;
    for (const at::TensorList list : lists) {
        if (list.empty())
            continue;
        if (list.size() != first.size())
            return false;
        for (std::size_t i = 0; i < list.size(); ++i)
            if (list[i].scalar_type() != dtype || list[i].device() != device ||
                list[i].sizes() != first[i].sizes() || list[i].strides() != first[i].strides() ||
                !list[i].is_non_overlapping_and_dense())
                return false;
    }
    return true;
}

} // namespace rvk
