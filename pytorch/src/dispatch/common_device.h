#pragma once
/// Checks that all tensors of an operator are on one device, by PyTorch's own rules for CUDA: an operator
/// whose `device_check` in native_functions.yaml is NoCheck checks its operands itself (most use a
/// TensorIterator, which accepts 0-dimensional CPU tensors as numbers); every other operator accepts no
/// tensor from a second device, not even a number.

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <cstdint>
#include <optional>
#include <string_view>

namespace c10 {
class OperatorHandle;
}

namespace rvk {

/// Whether PyTorch checks the devices of this operator's arguments before its CUDA kernel runs. `name` is the
/// name in native_functions.yaml without "aten::": "mm", "add.Tensor".
bool has_device_check(std::string_view name);

/// Throws c10::Error: "Expected all tensors to be on the same device, but found at least two devices, …".
[[noreturn]] void report_two_devices(c10::Device first, c10::Device second, std::string_view operator_name,
                                     std::string_view argument = {});

/// Looks for a second device among the arguments. Skips undefined tensors and everything that is not a
/// tensor.
class CommonDevice {
  public:
    void see(const at::Tensor& tensor) {
        if (tensor.defined())
            see(tensor.device());
        ++position_;
    }
    void see(const std::optional<at::Tensor>& tensor) { see(tensor ? *tensor : at::Tensor()); }
    void see(at::TensorList tensors) { see_all(tensors); }
    void see(const at::ITensorListRef& tensors) { see_all(tensors); }
    void see(const std::vector<at::Tensor>& tensors) { see_all(tensors); }
    void see(const c10::List<std::optional<at::Tensor>>& tensors) {
        for (const std::optional<at::Tensor> tensor : tensors)
            if (tensor && tensor->defined())
                see(tensor->device());
        ++position_;
    }
    template <class T>
    void see(const T&) {
        ++position_;
    }

    bool is_mixed() const noexcept { return second_.has_value(); }
    c10::Device first() const { return *first_; }
    c10::Device second() const { return *second_; }
    /// The argument, counted from 0, that is on the second device.
    std::size_t position() const noexcept { return mixed_position_; }

  private:
    void see(c10::Device device) {
        if (!first_) {
            first_ = device;
        } else if (!second_ && device != *first_) {
            second_ = device;
            mixed_position_ = position_;
        }
    }
    template <class Tensors>
    void see_all(const Tensors& tensors) {
        for (const at::Tensor& tensor : tensors)
            if (tensor.defined())
                see(tensor.device());
        ++position_;
    }

    std::optional<c10::Device> first_, second_;
    std::size_t position_ = 0, mixed_position_ = 0;
};

/// A mask of the arguments that the operator writes to, according to its schema: bit i for argument i.
std::uint64_t written_arguments(std::string_view name);

/// unshare (../device/allocator.h) for every tensor of an argument.
void unshare_memory_of(const at::Tensor& tensor);
void unshare_memory_of(const std::optional<at::Tensor>& tensor);
void unshare_memory_of(at::TensorList tensors);
template <class T>
void unshare_memory_of(const T&) {}

/// A registered operator: the checks that every call makes first.
class RegisteredOperator {
  public:
    /// `name` must live as long as the process.
    explicit RegisteredOperator(const char* name)
        : name_(name), checked_(has_device_check(name)), written_(written_arguments(name)) {}

    const char* name() const noexcept { return name_; }
    /// Arguments in the schema's order. Throws c10::Error if they are on two devices and the operator does
    /// not check this itself.
    template <class... A>
    void check_devices(const A&... arguments) const {
        if (!checked_)
            return;
        CommonDevice devices;
        (devices.see(arguments), ...);
        if (devices.is_mixed()) [[unlikely]]
            report(devices);
    }

    /// Gives tensors that the operator writes to their own memory if a deferred copy shares it.
    template <class... A>
    void unshare_written(const A&... arguments) const {
        if (written_ == 0)
            return;
        std::size_t position = 0;
        ((written_ >> position++ & 1 ? unshare_memory_of(arguments) : void()), ...);
    }

  private:
    [[noreturn]] void report(const CommonDevice& devices) const;

    const char* name_;
    bool checked_;
    std::uint64_t written_; ///< one bit for each argument
};

/// The same for the arguments of a boxed call. If PyTorch leaves the check to the operator, this accepts only
/// what CUDA's kernels accept: 0-dimensional CPU tensors, indices of advanced indexing, targets and lengths
/// of ctc_loss, and sizes of nested tensors.
void check_devices(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

} // namespace rvk
