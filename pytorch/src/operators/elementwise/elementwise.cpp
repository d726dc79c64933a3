#include "elementwise.h"

#include "../../device/dtypes.h"
#include "../lib/layout.h"

#include <rekindle/kernels/families/elementwise.h>
#include <rekindle/kernels/families/elementwise_float64.h>
#include <rekindle/kernels/families/elementwise_int64.h>

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <algorithm>
#include <bit>
#include <c10/core/DynamicCast.h>
#include <c10/util/Exception.h>
#include <cstring>

namespace rvk {

namespace {

constexpr std::uint32_t elements_per_group = 1024;

/// The type that the kernels compute in.
enum class Arithmetic { float32, float64, integer };

constexpr bool real_only[] = {
#define REKINDLE_BOTH(name, ...) false,
#define REKINDLE_REAL(name, ...) true,
#define REKINDLE_INTEGER(name, ...) false,
#include <rekindle/kernels/elementwise.def>
#undef REKINDLE_BOTH
#undef REKINDLE_REAL
#undef REKINDLE_INTEGER
};
constexpr bool integer_only[] = {
#define REKINDLE_BOTH(name, ...) false,
#define REKINDLE_REAL(name, ...) false,
#define REKINDLE_INTEGER(name, ...) true,
#include <rekindle/kernels/elementwise.def>
#undef REKINDLE_BOTH
#undef REKINDLE_REAL
#undef REKINDLE_INTEGER
};

/// Whether PyTorch has no bool kernel for the operation, either on the CPU or for CUDA.
bool refuses_bool(Operation operation) {
    switch (operation) {
    case Operation::add_product:
    case Operation::clamp:
    case Operation::clamp_scalar:
    case Operation::clamp_scalar_above:
    case Operation::clamp_scalar_below:
    case Operation::divide_floor:
    case Operation::divide_trunc:
    case Operation::fmod:
    case Operation::greatest_common_divisor:
    case Operation::least_common_multiple:
    case Operation::power:
    case Operation::remainder:
    case Operation::shift_left:
    case Operation::shift_right:
    case Operation::threshold:
        return true;
    default:
        return false;
    }
}

bool divides(Operation operation) {
    return operation == Operation::divide_floor || operation == Operation::divide_trunc ||
           operation == Operation::remainder || operation == Operation::fmod;
}

Arithmetic arithmetic_of(at::ScalarType common, const at::TensorIteratorBase& iterator, Operation operation) {
    const auto number = static_cast<std::size_t>(operation);
    bool doubles = common == at::kDouble;
    TORCH_CHECK_NOT_IMPLEMENTED(is_known_to_kernels(common), "elementwise operations in ", common);
    for (int i = 0; i < iterator.ntensors(); ++i) {
        TORCH_CHECK_NOT_IMPLEMENTED(is_known_to_kernels(iterator.dtype(i)) || iterator.is_cpu_scalar(i),
                                    "operands of ", iterator.dtype(i));
        doubles = doubles || (iterator.dtype(i) == at::kDouble && !iterator.is_cpu_scalar(i));
    }
    if (doubles)
        require_float64(at::kDouble, iterator.device(0));
    const bool integer = at::isIntegralType(common, true) && !doubles;
    TORCH_CHECK_NOT_IMPLEMENTED(!(integer ? real_only : integer_only)[number], "this operation in ", common);
    return doubles ? Arithmetic::float64 : integer ? Arithmetic::integer : Arithmetic::float32;
}

template <class T>
std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
}
/// A parameter of the operation in the integer dtype `common`. Throws, as the CPU does, if the dtype cannot
/// represent it.
std::int64_t integer_parameter(const c10::Scalar& value, at::ScalarType common) {
    return AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, common, "a number of an integer operation",
                                          [&] { return static_cast<std::int64_t>(value.to<scalar_t>()); });
}
/// An operand converted to the integer dtype `common`. It wraps around on overflow, as on the CPU and with
/// CUDA.
std::int64_t integer_operand(at::ScalarType type, const void* value, at::ScalarType common) {
    return AT_DISPATCH_INTEGRAL_TYPES_AND(at::kBool, common, "a number of an integer operation", [&] {
        return static_cast<std::int64_t>(c10::fetch_and_cast<scalar_t>(type, value));
    });
}

std::uint64_t scalar_bits(const c10::Scalar& value, Arithmetic arithmetic, at::ScalarType common) {
    switch (arithmetic) {
    case Arithmetic::float32:
        return bits_of(static_cast<float>(value.to<double>()));
    case Arithmetic::float64:
        return bits_of(value.to<double>());
    case Arithmetic::integer:
        return bits_of(integer_parameter(value, common));
    }
    return 0;
}
std::uint64_t scalar_bits(at::ScalarType type, const void* value, Arithmetic arithmetic,
                          at::ScalarType common) {
    switch (arithmetic) {
    case Arithmetic::float32:
        return bits_of(c10::fetch_and_cast<float>(type, value));
    case Arithmetic::float64:
        return bits_of(c10::fetch_and_cast<double>(type, value));
    case Arithmetic::integer:
        return bits_of(integer_operand(type, value, common));
    }
    return 0;
}

/// Whether every four consecutive elements can be loaded with one aligned vector load.
bool aligned_for_quads(const at::TensorIteratorBase& iterator, std::span<const int> operands) {
    return std::ranges::all_of(operands, [&](int operand) {
        if (operand < 0)
            return true;
        const std::uint64_t bytes = std::min<std::uint64_t>(4 * iterator.element_size(operand), 16);
        return reinterpret_cast<std::uintptr_t>(iterator.data_ptr(operand)) % bytes == 0;
    });
}

/// The operands and scalars of a call, for any of the three kernels.
struct Call {
    Operation operation;
    at::ScalarType common;
    int inputs = 0;
    std::uint32_t scalar_inputs = 0;
    std::array<std::uint64_t, 3> scalars{};
    std::array<int, 4> operands{-1, -1, -1, -1}; ///< operands of the iterator; -1: a scalar or absent
};

template <class P>
void launch_call(const kernels::TypedKernel<P>& kernel, const at::TensorIteratorBase& iterator,
                 const Call& call) {
    const std::span operands(call.operands.data(), static_cast<std::size_t>(call.inputs) + 1);
    const OperandLayout layout(iterator, operands);
    const auto device = iterator.device(0);
    const auto address_of = [&](int k) {
        const int operand = call.operands[static_cast<std::size_t>(k)];
        return operand < 0 ? 0 : address(iterator, operand);
    };
    const auto dtype = [&](int k) {
        const int operand = call.operands[static_cast<std::size_t>(k)];
        return dtype_code(operand < 0 ? call.common : iterator.dtype(operand));
    };
    P p;
    p.output = address_of(0);
    p.input_0 = address_of(1);
    p.input_1 = address_of(2);
    p.input_2 = address_of(3);
    p.count = static_cast<std::uint64_t>(iterator.numel());
    p.scalar_0 = call.scalars[0];
    p.scalar_1 = call.scalars[1];
    p.scalar_2 = call.scalars[2];
    const UploadedBlock layout_block = layout.fill(p, device.index());
    std::array<Access, 4> accesses;
    std::size_t used = 0;
    for (const int operand : operands)
        if (operand >= 0)
            accesses[used++] = operand == 0 ? writes(iterator, operand) : reads(iterator, operand);
    const bool quads =
        layout.kind() == OperandLayout::Kind::contiguous && aligned_for_quads(iterator, operands);
    const kernels::ElementwiseConstants constants{.operation = static_cast<std::uint32_t>(call.operation),
                                                  .inputs = static_cast<std::uint32_t>(call.inputs),
                                                  .layout = static_cast<std::uint32_t>(layout.kind()),
                                                  .output_dtype = dtype(0),
                                                  .input_dtype_0 = dtype(1),
                                                  .input_dtype_1 = dtype(2),
                                                  .input_dtype_2 = dtype(3),
                                                  .common_dtype = dtype_code(call.common),
                                                  .scalar_inputs = call.scalar_inputs,
                                                  .quads = quads,
                                                  .wide = iterator.numel() >= (std::int64_t{1} << 31)};
    launch(device, kernel, linear_groups(iterator.numel(), elements_per_group), p,
           std::span<const Access>(accesses.data(), used), constants);
}

Call call_of(at::ScalarType common, const at::TensorIteratorBase& iterator, Operation operation,
             const Parameters& parameters, Arithmetic arithmetic) {
    Call call{operation, common};
    call.inputs = iterator.ntensors() - 1;
    TORCH_INTERNAL_ASSERT(iterator.noutputs() == 1 && call.inputs <= 3);
    call.operands[0] = 0;
    for (std::size_t k = 0; k < 3; ++k)
        if (parameters[k])
            call.scalars[k] = scalar_bits(*parameters[k], arithmetic, common);
    for (int i = 1; i <= call.inputs; ++i) {
        const auto k = static_cast<std::size_t>(i) - 1;
        if (!iterator.is_cpu_scalar(i)) {
            call.operands[k + 1] = i;
            continue;
        }
        TORCH_CHECK_NOT_IMPLEMENTED(!parameters[k], "a CPU scalar in the place of a parameter");
        call.scalars[k] = scalar_bits(iterator.dtype(i), iterator.data_ptr(i), arithmetic, common);
        TORCH_CHECK(arithmetic != Arithmetic::integer || k != 1 || call.scalars[k] != 0 ||
                        !divides(operation),
                    "ZeroDivisionError");
        call.scalar_inputs |= 1u << k;
    }
    if (call.inputs == 0) { // only an output: the operation applies to scalar 0
        call.inputs = 1;
        call.scalar_inputs = 1;
    }
    return call;
}

} // namespace

void compute_as(at::ScalarType common, at::TensorIteratorBase& iterator, Operation operation,
                const Parameters& parameters) {
    const Arithmetic arithmetic = arithmetic_of(common, iterator, operation);
    if (iterator.numel() == 0)
        return;
    const Call call = call_of(common, iterator, operation, parameters, arithmetic);
    switch (arithmetic) {
    case Arithmetic::float32:
        launch_call(kernels::elementwise, iterator, call);
        break;
    case Arithmetic::float64:
        launch_call(kernels::elementwise_float64, iterator, call);
        break;
    case Arithmetic::integer:
        launch_call(kernels::elementwise_int64, iterator, call);
        break;
    }
}

void compute(at::TensorIteratorBase& iterator, Operation operation, const Parameters& parameters) {
    TORCH_CHECK_NOT_IMPLEMENTED(iterator.common_dtype() != at::kBool || !refuses_bool(operation),
                                "this operation in bool");
    compute_as(iterator.common_dtype(), iterator, operation, parameters);
}

at::TensorIterator iterator_of(const at::Tensor& out, std::initializer_list<at::Tensor> inputs) {
    at::TensorIteratorConfig config;
    config.add_owned_output(out);
    for (const at::Tensor& input : inputs)
        config.add_owned_const_input(input);
    return config.allow_cpu_scalars(true).promote_inputs_to_common_dtype(true).build();
}

} // namespace rvk
