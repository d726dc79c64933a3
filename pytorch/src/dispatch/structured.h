#pragma once
/// Registers PyTorch's structured operators for this device, one line for each.
///
/// A structured operator of PyTorch is a class with meta() (shapes, dtypes, checks, the TensorIterator) and
/// impl() (the work). If impl() only calls a dispatch stub, use PyTorch's own class:
/// register_structured<at::native::structured_mul_out>, and register the kernel for the stub
/// (REGISTER_PRIVATEUSE1_DISPATCH(mul_stub, &kernel)). For the others, derive a class from
/// at::meta::structured_X with its own impl(). Broadcasting, type promotion, and the out= and in-place
/// variants with their checks then need no code.
///
/// If an impl() or stub kernel throws c10::NotImplementedError (for a dtype without a kernel), the operator
/// falls back to the CPU.

#include "../compat.h"
#include "../device/operator_scope.h"
#include "../device/tensors.h"
#include "common_device.h"
#include "fallback.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/native/Resize.h>
#include <array>
#include <optional>
#include <string>
#include <torch/library.h>
#include <tuple>
#include <type_traits>

namespace rvk {

enum class Variant { functional, out, in_place };

/// Operator S with N outputs on this device.
template <class S, std::size_t N, Variant V>
class StructuredOperator final : public S {
  public:
    std::array<at::Tensor, N> outputs;

    void set_output_strided(std::int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides,
                            at::TensorOptions options RVK_OUTPUT_NAMES_PARAMETER) override {
        set(static_cast<std::size_t>(i), sizes, strides, options, true);
        if constexpr (std::is_base_of_v<at::TensorIteratorBase, S>)
            S::set_output_raw_strided(i, sizes, strides, options RVK_OUTPUT_NAMES_ARGUMENT);
    }
    void set_output_raw_strided(std::int64_t i, at::IntArrayRef sizes, at::IntArrayRef strides,
                                at::TensorOptions options RVK_OUTPUT_NAMES_PARAMETER) override {
        set(static_cast<std::size_t>(i), sizes, strides, options, false);
        if constexpr (std::is_base_of_v<at::TensorIteratorBase, S>)
            S::set_output_raw_strided(i, sizes, strides, options RVK_OUTPUT_NAMES_ARGUMENT);
    }
    const at::Tensor& maybe_get_output(std::int64_t i) override {
        const auto output = static_cast<std::size_t>(i);
        return proxies_[output] ? *proxies_[output] : outputs[output];
    }
    /// Kernels that are not launched from a TensorIterator (which has its own checks) may write before they
    /// have read everything, so an output that is also this input is computed in separate memory. An output
    /// that partially overlaps the input is rejected.
    void keep_apart_from(const at::Tensor& input) {
        if (!input.defined() || !input.has_storage())
            return;
        for (std::size_t i = 0; i < N; ++i) {
            const at::Tensor& output = outputs[i];
            if (!output.defined() || output.numel() == 0 || !output.is_alias_of(input))
                continue;
            at::assert_no_partial_overlap(output, input);
            apart_[i] = apart_[i] || at::get_overlap_status(output, input) != at::MemOverlapStatus::No;
        }
    }
    void keep_apart_from(const std::optional<at::Tensor>& input) {
        if (input)
            keep_apart_from(*input);
    }
    template <class T>
    void keep_apart_from(const T&) {}
    /// Copies results that were computed in other memory or with other strides than the caller's tensor.
    void finish() {
        for (std::size_t i = 0; i < N; ++i)
            if (proxies_[i])
                outputs[i].copy_(*proxies_[i]);
    }

  private:
    void set(std::size_t i, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options,
             bool exact_strides) {
        at::Tensor& output = outputs[i];
        if constexpr (V == Variant::functional) {
            output = make_output(sizes, strides, options);
            return;
        }
        TORCH_CHECK(options.dtype() == output.dtype(), "Expected out tensor to have dtype ", options.dtype(),
                    ", but got ", output.dtype(), " instead");
        TORCH_CHECK(options.device() == output.device(), "Expected out tensor to have device ",
                    options.device(), ", but got ", output.device(), " instead");
        if constexpr (V == Variant::out) {
            if (at::native::resize_output(output, sizes)) {
                if (!strides.empty())
                    output.as_strided_(sizes, strides);
                else if (options.memory_format_opt())
                    output.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
            }
        } else {
            TORCH_CHECK(output.sizes() == sizes, "output with shape ", output.sizes(),
                        " doesn't match the broadcast shape ", sizes);
        }
        if (apart_[i])
            proxies_[i] = make_output(sizes, exact_strides ? strides : output.strides(), options);
        else if (exact_strides && !strides.empty() && output.strides() != strides)
            proxies_[i] = make_output(sizes, strides, options);
    }

    std::array<std::optional<at::Tensor>, N> proxies_;
    std::array<bool, N> apart_{};
};

/// Runs the CPU fallback of "aten::name" with these arguments.
template <class R, class... A>
R call_fallback(const char* name, A... arguments) {
    const std::string full(name);
    const auto dot = full.find('.');
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
        ("aten::" + full.substr(0, dot)).c_str(),
        dot == std::string::npos ? "" : full.substr(dot + 1).c_str());
    return c10::impl::BoxedKernelWrapper<R(A...)>::call(c10::BoxedKernel::makeFromFunction<&fallback>(), op,
                                                        c10::DispatchKeySet(), static_cast<A>(arguments)...);
}

namespace detail {

template <std::size_t N>
struct OutputTypes;
template <>
struct OutputTypes<1> {
    using Functional = at::Tensor;
    using Out = at::Tensor&;
};
template <>
struct OutputTypes<2> {
    using Functional = std::tuple<at::Tensor, at::Tensor>;
    using Out = std::tuple<at::Tensor&, at::Tensor&>;
};
template <>
struct OutputTypes<3> {
    using Functional = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
    using Out = std::tuple<at::Tensor&, at::Tensor&, at::Tensor&>;
};

/// For four operators, meta() takes OptionalTensorRef and OptionalScalarRef where the operator has const
/// std::optional<T>&.
template <class T>
struct SchemaArgument {
    using Type = T;
    static T pass(T value) { return static_cast<T>(value); }
};
template <>
struct SchemaArgument<at::OptionalTensorRef> {
    using Type = const std::optional<at::Tensor>&;
    static at::OptionalTensorRef pass(Type value) {
        return value && value->defined() ? at::OptionalTensorRef(*value) : at::OptionalTensorRef();
    }
};
template <>
struct SchemaArgument<at::OptionalScalarRef> {
    using Type = const std::optional<at::Scalar>&;
    static at::OptionalScalarRef pass(Type value) {
        return value ? at::OptionalScalarRef(*value) : at::OptionalScalarRef();
    }
};
template <class T>
using Schema = typename SchemaArgument<T>::Type;

template <class Operator, std::size_t N, class... A, std::size_t... I>
void run(Operator& op, std::index_sequence<I...>, Schema<A>... arguments) {
    op.meta(SchemaArgument<A>::pass(arguments)...);
    op.impl(SchemaArgument<A>::pass(arguments)..., op.maybe_get_output(static_cast<std::int64_t>(I))...);
    op.finish();
}

template <class S, std::size_t N, class Meta>
struct Structured;
template <class S, std::size_t N, class R, class Base, class... A>
struct Structured<S, N, R (Base::*)(A...)> {
    using Types = OutputTypes<N>;

    static auto functional(const char* name) {
        return [registered = RegisteredOperator(name)](Schema<A>... arguments) -> typename Types::Functional {
            const OperatorScope scope(registered.name());
            registered.check_devices(arguments...);
            registered.unshare_written(arguments...);
            try {
                StructuredOperator<S, N, Variant::functional> op;
                run<decltype(op), N, A...>(op, std::make_index_sequence<N>(), arguments...);
                if constexpr (N == 1)
                    return std::move(op.outputs[0]);
                else
                    return std::tuple_cat(std::move(op.outputs));
            } catch (const c10::NotImplementedError&) {
                return call_fallback<typename Types::Functional, Schema<A>...>(registered.name(),
                                                                               arguments...);
            }
        };
    }
    static auto out(const char* name) { return out_with(name, std::make_index_sequence<N>()); }
    template <std::size_t... I>
    static auto out_with(const char* name, std::index_sequence<I...>) {
        return [registered = RegisteredOperator(name)](Schema<A>... arguments, Output<I>... outputs) ->
               typename Types::Out {
                   const OperatorScope scope(registered.name());
                   registered.check_devices(arguments..., outputs...);
                   registered.unshare_written(arguments..., outputs...);
                   try {
                       StructuredOperator<S, N, Variant::out> op;
                       op.outputs = {outputs...};
                       if constexpr (!std::is_base_of_v<at::TensorIteratorBase, S>)
                           (op.keep_apart_from(arguments), ...);
                       run<decltype(op), N, A...>(op, std::make_index_sequence<N>(), arguments...);
                       return typename Types::Out(outputs...);
                   } catch (const c10::NotImplementedError&) {
                       return call_fallback<typename Types::Out, Schema<A>..., Output<I>...>(
                           registered.name(), arguments..., outputs...);
                   }
               };
    }

  private:
    template <std::size_t>
    using Output = at::Tensor&;
};

/// In place: the first argument is the output.
template <class S, class Meta>
struct InPlace;
template <class S, class R, class Base, class First, class... A>
struct InPlace<S, R (Base::*)(First, A...)> {
    static auto function(const char* name) {
        return
            [registered = RegisteredOperator(name)](at::Tensor& self, Schema<A>... arguments) -> at::Tensor& {
                const OperatorScope scope(registered.name());
                registered.check_devices(self, arguments...);
                registered.unshare_written(self, arguments...);
                try {
                    StructuredOperator<S, 1, Variant::in_place> op;
                    op.outputs[0] = self;
                    run<decltype(op), 1, First, A...>(op, std::make_index_sequence<1>(), self, arguments...);
                    return self;
                } catch (const c10::NotImplementedError&) {
                    return call_fallback<at::Tensor&, at::Tensor&, Schema<A>...>(registered.name(), self,
                                                                                 arguments...);
                }
            };
    }
};

/// Whether meta()'s first argument is a tensor, which an in-place variant would overwrite.
template <class Meta>
inline constexpr bool begins_with_tensor = false;
template <class R, class Base, class... A>
inline constexpr bool begins_with_tensor<R (Base::*)(const at::Tensor&, A...)> = true;

template <class Function, class Signature>
struct WithFallback;
template <class Function, class R, class... A>
struct WithFallback<Function, R(A...)> {
    static auto make(const char* name, R (*function)(A...)) {
        return [registered = RegisteredOperator(name), function](A... arguments) -> R {
            const OperatorScope scope(registered.name());
            registered.check_devices(arguments...);
            registered.unshare_written(arguments...);
            try {
                return function(static_cast<A>(arguments)...);
            } catch (const c10::NotImplementedError&) {
                return call_fallback<R, A...>(registered.name(), arguments...);
            }
        };
    }
};

} // namespace detail

/// register_structured<at::native::structured_mul_out>(m, "mul.Tensor", "mul.out", "mul_.Tensor"); a null
/// name is not registered. N: number of outputs.
template <class S, std::size_t N = 1>
void register_structured(torch::Library& m, const char* functional, const char* out,
                         const char* in_place = nullptr) {
    using Meta = decltype(&S::meta);
    if (functional)
        m.impl(functional, detail::Structured<S, N, Meta>::functional(functional));
    if (out)
        m.impl(out, detail::Structured<S, N, Meta>::out(out));
    if constexpr (N == 1 && detail::begins_with_tensor<Meta>)
        if (in_place)
            m.impl(in_place, detail::InPlace<S, Meta>::function(in_place));
}

/// Registers a function whose signature is the operator's schema; c10::NotImplementedError falls back to the
/// CPU.
template <class R, class... A>
void register_operator(torch::Library& m, const char* name, R (*function)(A...)) {
    m.impl(name, detail::WithFallback<R(A...), R(A...)>::make(name, function));
}

} // namespace rvk
