"""One operator of PyTorch's own list (op_db) on the device and on the CPU, with the same inputs.

The method is the one by which other out-of-tree devices were measured: the first samples of each OpInfo in float32, contiguous
and not, outputs compared at 1e-3, gradients of a weighted sum of the outputs at 2e-3 (the weights differ from element
to element, so that a merely constant gradient does not pass). This version also handles devices in the arguments,
arguments that belong on the host, the order of eigenvalues, outputs that are not tensors, and operators that return
their input where the CPU returns a new tensor. A backward that fails does not count against the forward.

Only the operator and its backward run on the device: inputs are laid out on the host and copied with their storage, so
that the result under REKINDLE_STRICT=1 is that of the operator alone.
"""

import dataclasses
import enum
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_leaves, tree_map

import expectations
from both_devices import moved, tensors_of

FORWARD_TOLERANCE = 1e-3
GRADIENT_TOLERANCE = 2e-3

# Their outputs are random, so they cannot be compared with the CPU's; test_generator.py tests the distributions.
RANDOM_OPERATORS = frozenset((
    "cauchy", "exponential", "geometric", "log_normal", "uniform", "bernoulli", "multinomial", "normal",
    "nn.functional.rrelu", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention"))

# Some tensor arguments are read on the host by contract: the positions and names of those that stay there.
ARGUMENTS_ON_THE_HOST = {"tensor_split": {0, "indices_or_sections", "tensor_indices_or_sections"}}

# The order of equal values depends on the algorithm, unless a sample requests a stable sort, so the values that the indices
# select are compared. Maps each operator to the position of its dimension argument.
UNORDERED_TIES = {"argsort": 0, "sort": 0, "kthvalue": 1, "topk": 1}

# The CPU computes these in 16 bits, the device in float32: 16-bit results are compared with float64.
IN_16_BITS_ON_CPU = frozenset(("nn.functional.grid_sample", "grid_sampler_2d", "grid_sampler_3d", "addbmm"))

# The statistics saved for the backward pass are float32 for 16-bit inputs, as on CUDA; the CPU rounds them to 16 bits, and
# so does CUDA for group norms.
STATISTICS_IN_FLOAT = frozenset(("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update",
                                 "native_layer_norm", "native_group_norm"))

# The order of their results depends on the algorithm.
UNORDERED_EIGENVALUES = frozenset(("linalg.eig", "linalg.eigvals"))


class Part(enum.Enum):
    """The compared values: outputs or gradients, for contiguous or non-contiguous inputs."""
    FORWARD = "forward"
    GRADIENT = "gradient"
    FORWARD_NONCONTIGUOUS = "forward_noncontiguous"
    GRADIENT_NONCONTIGUOUS = "gradient_noncontiguous"


@dataclasses.dataclass
class Tally:
    """How many samples agreed, and how many the CPU could compute."""
    passed: int = 0
    total: int = 0


@dataclasses.dataclass
class OperatorResult:
    operator: str
    skipped: str | None = None  # why the operator is not compared
    parts: dict[str, Tally] = dataclasses.field(default_factory=lambda: {part.value: Tally() for part in Part})
    errors: list[str] = dataclasses.field(default_factory=list)  # "part: message", the first few
    fallbacks: list[str] = dataclasses.field(default_factory=list)  # operators that ran on the CPU instead
    seconds: float = 0.0


def reason_to_skip(op: OpInfo) -> str | None:
    """Why the operator is not compared, or None."""
    if op.name.startswith("jiterator"):
        return "compiled by CUDA's own compiler (jiterator)"
    if "empty" in op.name:
        return "uninitialized memory"
    if op.name in RANDOM_OPERATORS or "dropout" in op.name or "rand" in op.name:
        return "random"
    if op.is_factory_function:
        return "factory: no tensor inputs"
    if torch.float32 not in op.supported_dtypes("cpu"):
        return "no float32"
    return None


def native_operators() -> list[OpInfo]:
    """Operators whose outputs are compared and that operators.json does not list."""
    gaps = expectations.read()
    return [op for op in op_db if not reason_to_skip(op)
            and Part.FORWARD.value not in getattr(gaps.get(op.full_name), "not_native", ())]


def move_value(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return moved(value, device, whole_storage=True)
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return torch.device(device)
    return value


def sample_on(op: OpInfo, sample: SampleInput, device: str) -> SampleInput:
    """A copy of the sample whose tensors and devices are on `device`."""
    stays = ARGUMENTS_ON_THE_HOST.get(op.name, set())

    def moved_argument(value: Any, key: int | str) -> Any:
        return tree_map(lambda leaf: move_value(leaf, "cpu" if key in stays else device), value)

    return SampleInput(
        tree_map(lambda leaf: move_value(leaf, device), sample.input),
        args=tuple(moved_argument(argument, position) for position, argument in enumerate(sample.args)),
        kwargs={name: moved_argument(argument, name) for name, argument in sample.kwargs.items()})


def inputs_of(sample: SampleInput) -> list[torch.Tensor]:
    return tensors_of((sample.input, sample.args, sample.kwargs))


def storage_identity(tensor: torch.Tensor) -> int | None:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # sparse tensors have none
        return None


@dataclasses.dataclass
class Outcome:
    """The result of one call, and what its backward needs."""
    outputs: list[Any]  # on the host
    aliases: list[tuple[int, int]]  # (output, input) pairs that share their storage
    differentiable: list[torch.Tensor]  # outputs on the device
    leaves: list[torch.Tensor]  # inputs that require a gradient
    order: torch.Tensor | None  # see order_of_eigenvalues


def order_of_eigenvalues(op: OpInfo, outputs: list[Any]) -> torch.Tensor | None:
    """Indices along the last dimension that sort the eigenvalues, or None if the operator defines the order."""
    if op.name not in UNORDERED_EIGENVALUES:
        return None
    values = outputs[0].resolve_conj()
    by_imaginary = torch.argsort(values.imag, dim=-1, stable=True)
    by_real = torch.argsort(values.real.gather(-1, by_imaginary).round(decimals=4), dim=-1, stable=True)
    return by_imaginary.gather(-1, by_real)


def sort_last_dimension(tensor: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    if tensor.dim() > order.dim():
        order = order.unsqueeze(-2).expand(tensor.shape)
    return tensor.gather(-1, order)


def weights_like(output: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """The derivative of the weighted sum with respect to this output: 0.5 to 1.5 over its elements, on the host."""
    weights = torch.linspace(0.5, 1.5, output.numel()).to(output.dtype).reshape(output.shape)
    return weights if order is None else sort_last_dimension(weights, torch.argsort(order, dim=-1))


def run_forward(op: OpInfo, sample: SampleInput, device: str) -> Outcome:
    """Calls the operator with the sample on `device`."""
    given = sample_on(op, sample, device)
    inputs = inputs_of(given)
    raw = op(given.input, *given.args, **given.kwargs)
    input_storages = [storage_identity(tensor) for tensor in inputs]
    aliases = [(position, index)
               for position, output in enumerate(tree_leaves(raw)) if isinstance(output, torch.Tensor)
               for index, identity in enumerate(input_storages)
               if identity is not None and identity == storage_identity(output)]

    outputs = tree_leaves(sample.output_process_fn_grad(raw))
    on_host = [leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf for leaf in outputs]
    order = order_of_eigenvalues(op, on_host)
    if order is not None:
        on_host = [sort_last_dimension(leaf, order) for leaf in on_host]
    differentiable = [leaf for leaf in outputs
                      if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_floating_point()]
    leaves = [tensor for tensor in inputs if tensor.requires_grad and tensor.is_leaf]
    return Outcome(on_host, aliases, differentiable, leaves, order)


def run_backward(outcome: Outcome) -> list[torch.Tensor | None]:
    """The gradients of the weighted sum of the outputs, on the host."""
    weights = [weights_like(output, outcome.order).to(output.device) for output in outcome.differentiable]
    found = torch.autograd.grad(outcome.differentiable, outcome.leaves, weights, allow_unused=True)
    return [None if gradient is None else gradient.detach().cpu() for gradient in found]


def assert_same_outputs(actual: list[Any], expected: list[Any]) -> None:
    assert len(actual) == len(expected), f"{len(actual)} outputs, the CPU has {len(expected)}"
    for mine, reference in zip(actual, expected):
        if isinstance(reference, (torch.Tensor, float, complex)):
            torch.testing.assert_close(mine, reference, rtol=FORWARD_TOLERANCE, atol=FORWARD_TOLERANCE,
                                       equal_nan=True, check_stride=False)
        elif isinstance(reference, torch.device):
            assert isinstance(mine, torch.device)
        else:
            assert mine == reference, f"{mine!r}, the CPU has {reference!r}"


def assert_same_gradients(actual: list[torch.Tensor | None], expected: list[torch.Tensor | None]) -> None:
    for index, (mine, reference) in enumerate(zip(actual, expected, strict=True)):
        assert (mine is None) == (reference is None), f"gradient {index} exists on one device only"
        if reference is not None:
            torch.testing.assert_close(mine, reference, rtol=GRADIENT_TOLERANCE, atol=GRADIENT_TOLERANCE,
                                       equal_nan=True, check_stride=False)


def assert_same_aliases(actual: Outcome, expected: Outcome) -> None:
    """A functional operator creates new tensors; a view is a view on every device."""
    surplus = set(actual.aliases) - set(expected.aliases)
    assert not surplus, f"returns its input: output {min(surplus)[0]} shares the storage of tensor {min(surplus)[1]}"
    missing = set(expected.aliases) - set(actual.aliases)
    assert not missing, f"returns a copy where the CPU returns a view: output {min(missing)[0]}"


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def compare_operator(op: OpInfo, device: str, samples: int) -> OperatorResult:
    """Compares the first `samples` samples of `op`. Raises no Exception; the result lists the errors."""
    result = OperatorResult(op.full_name, skipped=reason_to_skip(op))
    if result.skipped:
        return result
    torch.manual_seed(0)
    try:
        drawn = []
        for sample in op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd):
            drawn.append(sample)
            if len(drawn) == samples:
                break
    except Exception as error:
        result.errors.append(f"samples: {one_line(error)}")
        return result
    for sample in drawn:
        for noncontiguous in (False, True):
            forward = Part.FORWARD_NONCONTIGUOUS if noncontiguous else Part.FORWARD
            gradient = Part.GRADIENT_NONCONTIGUOUS if noncontiguous else Part.GRADIENT
            compare_sample(op, sample, noncontiguous, device, forward, gradient, result)
    return result


def compare_sample(op: OpInfo, sample: SampleInput, noncontiguous: bool, device: str, forward: Part, gradient: Part,
                   result: OperatorResult) -> None:
    try:
        given = sample.noncontiguous() if noncontiguous else sample
        expected = run_forward(op, given, "cpu")
        expected_gradients = run_backward(expected) if expected.differentiable else None
    except Exception:
        return  # the CPU cannot do it, so there is no reference
    result.parts[forward.value].total += 1
    if expected_gradients is not None:
        result.parts[gradient.value].total += 1
    part = forward
    try:
        actual = run_forward(op, given, device)
        assert_same_outputs(actual.outputs, expected.outputs)
        assert_same_aliases(actual, expected)
        result.parts[forward.value].passed += 1
        if expected_gradients is not None:
            part = gradient
            assert len(actual.differentiable) == len(expected.differentiable), "outputs differentiable on one device only"
            assert_same_gradients(run_backward(actual), expected_gradients)
            result.parts[gradient.value].passed += 1
    except Exception as error:
        message = f"{part.value}: {one_line(error)}"
        if len(result.errors) < 6 and message not in result.errors:
            result.errors.append(message)


# The columns of docs/reference/operators.md.
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool, torch.complex64)

# (relative, absolute); integers and bools must be exact. Both sides round to 16 bits after each operation.
TOLERANCE = {torch.float32: (1e-3, 1e-3), torch.float16: (2e-2, 1e-2), torch.bfloat16: (1e-1, 5e-2),
             torch.float64: (1e-6, 1e-6), torch.complex64: (1e-3, 1e-3)}


def compare_dtypes(op: OpInfo, device: str, samples: int) -> dict[str, str]:
    """For each dtype that the CPU supports, "ok" or what went wrong in the forward pass of the first `samples`
    samples."""
    supported = op.supported_dtypes("cpu")
    return {str(dtype).removeprefix("torch."): compare_dtype(op, dtype, device, samples)
            for dtype in DTYPES if dtype in supported}


def comparable(op: OpInfo, sample: SampleInput, outputs: list[Any]) -> list[Any]:
    """The outputs without the parts that depend on the algorithm."""
    if op.name in STATISTICS_IN_FLOAT:
        return [outputs[0], *(output.to(outputs[0].dtype) for output in outputs[1:])]
    if op.name in UNORDERED_TIES and sample.input.dim() and not sample.kwargs.get("stable"):
        position = UNORDERED_TIES[op.name]
        dim = sample.kwargs.get("dim", sample.args[position] if len(sample.args) > position else -1)
        indices = outputs[-1] if outputs[-1].dim() == sample.input.dim() else outputs[-1].unsqueeze(dim)
        return [*outputs[:-1], sample.input.gather(dim, indices)]
    return outputs


def expected_outputs(op: OpInfo, sample: SampleInput, dtype: torch.dtype) -> list[Any]:
    """The CPU's results, or float64 where that is the better reference."""
    if op.name not in IN_16_BITS_ON_CPU or dtype not in (torch.float16, torch.bfloat16):
        return run_forward(op, sample, "cpu").outputs

    def widened(value: Any) -> Any:
        return tree_map(lambda leaf: leaf.double() if isinstance(leaf, torch.Tensor) and leaf.dtype == dtype else leaf, value)

    wide = SampleInput(widened(sample.input), args=widened(sample.args), kwargs=widened(sample.kwargs))
    return [output.to(dtype) for output in run_forward(op, wide, "cpu").outputs]


def compare_dtype(op: OpInfo, dtype: torch.dtype, device: str, samples: int) -> str:
    torch.manual_seed(0)
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    compared = 0
    try:
        for sample in op.sample_inputs("cpu", dtype):
            try:
                expected = comparable(op, sample, expected_outputs(op, sample, dtype))
            except Exception:
                continue
            actual = comparable(op, sample, run_forward(op, sample, device).outputs)
            for mine, reference in zip(actual, expected, strict=True):
                if isinstance(reference, torch.Tensor):
                    torch.testing.assert_close(mine, reference, rtol=max(rtol, FORWARD_TOLERANCE if reference.is_floating_point() else 0),
                                               atol=atol or (FORWARD_TOLERANCE if reference.is_floating_point() else 0),
                                               equal_nan=True, check_stride=False)
            compared += 1
            if compared == samples:
                break
    except Exception as error:
        return one_line(error)
    return "ok" if compared else "no samples"
