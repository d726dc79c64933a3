/// Copies between tensors: PyTorch calls `_copy_from` for every copy with a tensor of this device on either
/// side.

#include "transfer.h"

#include "allocator.h"
#include "bridge.h"
#include "index_report.h"
#include "operator_scope.h"
#include "pinned.h"
#include "promised.h"
#include "tensors.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <cstring>
#include <torch/library.h>

namespace rvk {

namespace {

std::span<const std::byte> bytes_of(const at::Tensor& host) {
    return {static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()};
}

/// The registered copy. Initialized before any static object is created.
constinit CopyOnDevice registered_copy = nullptr;

void copy_on_device(const at::Tensor& to, const at::Tensor& from) {
    TORCH_INTERNAL_ASSERT(registered_copy, "no copy on a device has been registered");
    registered_copy(to, from);
}

void upload(const at::Tensor& to, const at::Tensor& host, bool non_blocking) {
    const DeviceIndex index = to.device().index();
    auto& queue = current_stream(index);
    const auto target = device_pointer(to.mutable_data_ptr());
    const auto pinned = pinned_device_pointer(index, host.const_data_ptr(), host.nbytes());
    if (!pinned) {
        queue.upload(target, bytes_of(host));
        return;
    }
    queue.copy(target, pinned, host.nbytes());
    if (!non_blocking) {
        const WithoutPythonLock unlocked;
        queue.synchronize(); // the caller may change the host tensor afterwards
    }
}

void download(const at::Tensor& host, const at::Tensor& from, bool non_blocking) {
    check_copy_to_host(from.nbytes());
    const DeviceIndex index = from.device().index();
    auto& queue = current_stream(index);
    const auto source = device_pointer(from.const_data_ptr());
    const auto pinned = pinned_device_pointer(index, host.const_data_ptr(), host.nbytes());
    if (!pinned) {
        const WithoutPythonLock unlocked;
        queue.download({static_cast<std::byte*>(host.mutable_data_ptr()), host.nbytes()}, source);
    } else {
        queue.copy(pinned, source, from.nbytes());
        if (non_blocking)
            return;
        const WithoutPythonLock unlocked;
        queue.synchronize();
    }
    check_index_report(index);
    check_failed_promise();
}

void host_to_device(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
    // Converts on the host; keeps the target's strides if its elements fill one contiguous range.
    at::Tensor host = from;
    if (host.scalar_type() != to.scalar_type() || !same_dense_layout(host, to)) {
        host = to.is_non_overlapping_and_dense()
                   ? at::empty_strided(to.sizes(), to.strides(), from.options().dtype(to.scalar_type()))
                   : at::empty(to.sizes(), from.options().dtype(to.scalar_type()));
        host.copy_(from);
        non_blocking = false;
    }
    if (same_dense_layout(host, to)) {
        upload(to, host, non_blocking);
        return;
    }
    const at::Tensor dense = at::empty(to.sizes(), to.options());
    upload(dense, host, non_blocking);
    copy_on_device(to, dense);
}

void device_to_host(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
    at::Tensor dense = from;
    if (!from.is_non_overlapping_and_dense()) {
        dense = at::empty(from.sizes(), from.options());
        copy_on_device(dense, from);
    }
    if (to.scalar_type() == dense.scalar_type() && same_dense_layout(dense, to)) {
        download(to, dense, non_blocking);
        return;
    }
    const at::Tensor host =
        at::empty_strided(dense.sizes(), dense.strides(), to.options().dtype(dense.scalar_type()));
    download(host, dense, false);
    to.copy_(host);
}

void between_devices(const at::Tensor& from, const at::Tensor& to) {
    const bool dense = to.is_non_overlapping_and_dense();
    at::Tensor source = from;
    if (source.scalar_type() != to.scalar_type() || !dense || !same_dense_layout(source, to)) {
        const c10::DeviceGuard guard(from.device());
        const auto options = from.options().dtype(to.scalar_type());
        source =
            dense ? at::empty_strided(to.sizes(), to.strides(), options) : at::empty(to.sizes(), options);
        copy_on_device(source, from);
    }
    const at::Tensor target = dense ? to : at::empty(to.sizes(), to.options());
    Bridge::between(from.device().index(), to.device().index())
        .copy(device_pointer(target.mutable_data_ptr()), device_pointer(source.const_data_ptr()),
              source.nbytes());
    if (!dense)
        copy_on_device(to, target);
}

/// The bytes as stored in memory, without lazy conjugation or negation.
void copy_plain(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
    const at::Tensor source = from.sizes() == to.sizes() ? from : from.expand(to.sizes());
    if (to.numel() == 0)
        return;
    const c10::DeviceGuard guard(to.is_privateuseone() ? to.device() : from.device());
    if (!source.is_privateuseone()) {
        host_to_device(source, to, non_blocking);
    } else if (!to.is_privateuseone()) {
        device_to_host(source, to, non_blocking);
    } else if (source.device() == to.device()) {
        at::assert_no_partial_overlap(to, source);
        copy_on_device(to, source);
    } else {
        between_devices(source, to);
    }
}

at::Tensor without_views(const at::Tensor& tensor) {
    const at::Tensor real = tensor.is_conj() ? at::_conj(tensor) : tensor;
    return real.is_neg() ? at::_neg_view(real) : real;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
    unshare(to);
    const bool negate = from.is_neg() != to.is_neg(), conjugate = from.is_conj() != to.is_conj();
    const at::Tensor target = without_views(to);
    copy_plain(without_views(from), target, non_blocking);
    if (conjugate && at::isComplexType(target.scalar_type()))
        target.conj_physical_();
    if (negate)
        target.neg_();
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
    if (to.sizes() != from.sizes()) {
        to.resize_(from.sizes());
        if (from.is_non_overlapping_and_dense()) // an operator that resizes out= also chooses its strides
            to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides());
    }
    return copy_from(from, to, false);
}

/// Casts or copies a dense tensor on its device. PyTorch's own implementation calls the dispatcher three more
/// times, which accounts for a sixth of the host's time for a cast.
at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                   std::optional<at::Layout> layout, std::optional<at::Device> device,
                   std::optional<bool> pinned, bool non_blocking, std::optional<at::MemoryFormat> format) {
    const at::ScalarType type = dtype.value_or(self.scalar_type());
    const bool keeps_place = device.value_or(self.device()) == self.device() &&
                             layout.value_or(at::kStrided) == at::kStrided && !pinned.value_or(false);
    const bool keeps_format = format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve &&
                              self.is_non_overlapping_and_dense();
    const bool is_plain = self.layout() == at::kStrided && !self.is_conj() && !self.is_neg() &&
                          self.is_complex() == at::isComplexType(type);
    if (!keeps_place || !keeps_format || !is_plain || self.numel() == 0)
        return at::native::_to_copy(self, dtype, layout, device, pinned, non_blocking, format);
    const c10::DeviceGuard guard(self.device());
    at::Tensor result = make_output(self.sizes(), self.strides(), self.options().dtype(type));
    copy_on_device(result, self);
    return result;
}

at::Scalar local_scalar(const at::Tensor& self) {
    const AllowCopyToHost allow("the caller asked for the value");
    const at::Tensor host = at::empty({}, self.options().device(at::kCPU));
    const at::Tensor plain = without_views(self.reshape({}));
    device_to_host(plain, host, false);
    at::Tensor value = host;
    if (self.is_conj())
        value = value.conj();
    if (self.is_neg())
        value = value.neg();
    return value.item();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    m.impl("_to_copy", TORCH_FN(to_copy));
    m.impl("_local_scalar_dense", TORCH_FN(local_scalar));
}
// These handle conjugated and negated views themselves. PyTorch's own implementation would call _copy_from
// again without end. It would also let _copy_from_and_resize write to a copy of the view, because its schema
// does not say that it writes.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
    m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
    m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

} // namespace

void register_copy_on_device(CopyOnDevice copy) noexcept {
    registered_copy = copy;
}

bool same_dense_layout(const at::Tensor& a, const at::Tensor& b) {
    return a.is_non_overlapping_and_dense() && a.strides() == b.strides() && a.sizes() == b.sizes();
}

} // namespace rvk
