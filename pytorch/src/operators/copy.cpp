#include "copy.h"

#include "../device/allocator.h"

#include <c10/util/Exception.h>

namespace rvk {

void copy_on_device(const at::Tensor& to, const at::Tensor& from) {
    TORCH_CHECK_NOT_IMPLEMENTED(to.scalar_type() == from.scalar_type() && to.is_contiguous() &&
                                    from.is_contiguous(),
                                "copies with conversion or strides");
    current_stream(to.device().index())
        .copy(device_pointer(to.mutable_data_ptr()), device_pointer(from.const_data_ptr()), to.nbytes());
}

} // namespace rvk
