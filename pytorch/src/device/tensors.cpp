/// Tensors of this device: creation, views, resizing.

#include "tensors.h"

#include "allocator.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_lazy_clone_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <algorithm>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace rvk {

namespace {

const c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pinned,
                 std::optional<at::MemoryFormat> memory_format) {
    TORCH_CHECK(c10::layout_or_default(layout) == at::kStrided, "rvk has strided tensors only");
    TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Only dense CPU tensors can be pinned");
    const c10::DeviceGuard guard(c10::device_or_default(device));
    return at::detail::empty_generic(sizes, &device_allocator(), keys, c10::dtype_or_default(dtype),
                                     memory_format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pinned) {
    TORCH_CHECK(c10::layout_or_default(layout) == at::kStrided, "rvk has strided tensors only");
    TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Only dense CPU tensors can be pinned");
    const c10::DeviceGuard guard(c10::device_or_default(device));
    return at::detail::empty_strided_generic(sizes, strides, &device_allocator(), keys,
                                             c10::dtype_or_default(dtype));
}

/// Fills new memory as torch.utils.deterministic.fill_uninitialized_memory requires.
bool fills_new_memory() {
    return at::globalContext().deterministicAlgorithms() &&
           at::globalContext().deterministicFillUninitializedMemory();
}

at::Tensor new_empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout, std::optional<at::Device> device,
                     std::optional<bool> pinned, std::optional<at::MemoryFormat> memory_format) {
    at::Tensor made = empty(sizes, dtype, layout, device, pinned, memory_format);
    return fills_new_memory() ? at::native::fill_empty_deterministic_(made) : made;
}

at::Tensor new_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                             std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                             std::optional<at::Device> device, std::optional<bool> pinned) {
    at::Tensor made = empty_strided(sizes, strides, dtype, layout, device, pinned);
    return fills_new_memory() ? at::native::fill_empty_deterministic_(made) : made;
}

at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                      std::optional<c10::SymInt> offset) {
    return at::cpu::as_strided_symint(self, sizes, strides, std::move(offset));
}

/// Enlarges the storage if it has fewer bytes. Returns whether it did.
bool grow(const at::Storage& storage, std::size_t bytes) {
    if (bytes <= storage.nbytes())
        return false;
    TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
    const c10::DeviceGuard guard(storage.device());
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(storage, bytes);
    return true;
}

/// Replaces PyTorch's own resize_, which copies with memcpy on the host.
const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef sizes,
                         std::optional<at::MemoryFormat> memory_format) {
    auto* const impl = self.unsafeGetTensorImpl();
    if (self.sizes() == sizes && !memory_format)
        return self;
    impl->set_sizes_contiguous(sizes);
    if (memory_format) {
        TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format ",
                    *memory_format);
        impl->empty_tensor_restride(*memory_format);
    }
    if (impl->numel() == 0)
        return self;
    const auto needed = static_cast<std::size_t>(impl->storage_offset() + impl->numel()) * impl->itemsize();
    const auto before = static_cast<std::int64_t>(self.storage().nbytes());
    if (grow(self.storage(), needed) && fills_new_memory())
        at::native::fill_resize_deterministic_(self, before);
    return self;
}

/// PyTorch's set_ for the CPU would enlarge a storage that is too small with memcpy on the host, so this
/// function enlarges it first.
at::Tensor& set_storage_with_sizes(at::Tensor& self, at::Storage storage, std::int64_t offset,
                                   at::IntArrayRef sizes, at::IntArrayRef strides) {
    at::native::checkSetStorage(self, storage, offset, sizes, strides);
    const auto first = static_cast<std::size_t>(offset);
    const std::size_t itemsize = self.dtype().itemsize();
    if (std::ranges::all_of(sizes, [](std::int64_t size) { return size >= 0; })) // otherwise set_ reports it
        grow(storage, strides.data() == nullptr
                          ? at::detail::computeStorageNbytesContiguous(sizes, itemsize, first)
                          : at::detail::computeStorageNbytes(sizes, strides, itemsize, first));
    return at::cpu::set_(self, std::move(storage), offset, sizes, strides);
}

/// set_() without a source: no elements, in an empty storage of its own.
at::Tensor& set_to_nothing(at::Tensor& self) {
    const at::Tensor nothing = empty({0}, self.scalar_type(), {}, self.device(), {}, {});
    return at::native::set_tensor_(self, nothing);
}

at::Tensor lazy_clone(const at::Tensor& self) {
    make_shareable(*self.storage().unsafeGetStorageImpl());
    return at::native::_lazy_clone(self);
}

/// Whether `tensor.data = from` may be done in place, also between the host and the device. PyTorch's own
/// check covers only its built-in devices. With that check, Module.to() would create new parameters: tied
/// parameters would no longer be shared, and optimizers would keep the old ones.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
    const auto is_dense = [](const at::Tensor& tensor) {
        return tensor.layout() == at::kStrided && (tensor.is_cpu() || tensor.is_privateuseone()) &&
               tensor.key_set().has_any(c10::DispatchKeySet(c10::DispatchKey::Dense));
    };
    return self.key_set() == from.key_set() || (is_dense(self) && is_dense(from));
}

void record_stream(at::Tensor& self, c10::Stream stream) {
    device_allocator().recordStream(self.storage().data_ptr(), stream);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", TORCH_FN(new_empty));
    m.impl("empty_strided", TORCH_FN(new_empty_strided));
    m.impl("as_strided", TORCH_FN(as_strided));
    m.impl("_lazy_clone", TORCH_FN(lazy_clone));
    m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
    m.impl("view", TORCH_FN(at::native::view));
    m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
    m.impl("unfold", TORCH_FN(at::native::unfold));
    m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    m.impl("resize_", TORCH_FN(resize));
    m.impl("set_", TORCH_FN(set_to_nothing));
    m.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
    m.impl("set_.source_Storage",
           TORCH_FN(static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_)));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_with_sizes));
    m.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
    m.impl("record_stream", TORCH_FN(record_stream));
}

} // namespace

at::Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
    const auto dtype = c10::optTypeMetaToScalarType(options.dtype_opt());
    return strides.empty()
               ? empty(sizes, dtype, options.layout_opt(), options.device_opt(), {},
                       options.memory_format_opt())
               : empty_strided(sizes, strides, dtype, options.layout_opt(), options.device_opt(), {});
}

} // namespace rvk
