"""Compares the outputs of operators with the outputs that PyTorch predicts for them.

torch.compile and torch.export plan with fake tensors: for each operator, a function without data predicts sizes,
strides, dtypes, which tensors share memory, and which outputs are missing. If the device returns something else, the
compiled program reads an operand's elements in the wrong order, or fails far from the cause ("view size is not
compatible"). Predictions are made with symbolic sizes, as in programs compiled for several sizes.
"""

import dataclasses
import enum
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode,
                                           UnsupportedFakeTensorException, UnsupportedOperatorException)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

import comparison
from both_devices import tensors_of
from comparison import one_line, sample_on, storage_identity

#: What PyTorch cannot predict without values.
UNPREDICTABLE = (DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode,
                 UnsupportedFakeTensorException, UnsupportedOperatorException)

#: Operators that return no tensor of their own, or change one whose sizes come from elsewhere.
NOT_PREDICTED = frozenset(("aten::lift_fresh", "aten::lift_fresh_copy", "aten::_local_scalar_dense", "aten::resize_"))


class Reason(enum.Enum):
    """Why the device differs from a prediction."""
    ON_CPU_TOO = "PyTorch's prediction is wrong for the CPU, too"
    ON_CUDA_TOO = "PyTorch's prediction is wrong for CUDA, too, but no program gets there: F.group_norm makes its input contiguous"
    UNREAD = "an output that is saved for the backward pass, which does not read it: empty on the device"
    COPIED = "runs on the CPU, for which expanded operands are copied element by element"


STRIDES, FAILS = "output 0: strides", "prediction fails: RuntimeError:"
#: Operators and the beginnings of the sentences about them.
EXPECTED = {
    ("aten.pow.Scalar", STRIDES): Reason.ON_CPU_TOO,
    ("aten._log_softmax_backward_data.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.native_dropout_backward.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.roll.default", STRIDES): Reason.ON_CPU_TOO,  # in channels_last
    ("aten.reflection_pad3d.default", STRIDES): Reason.ON_CPU_TOO,  # in channels_last_3d
    ("aten.replication_pad3d.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.max_unpool2d.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.softshrink_backward.default", FAILS): Reason.ON_CPU_TOO,
    ("aten.hardshrink_backward.default", FAILS): Reason.ON_CPU_TOO,
    ("aten.channel_shuffle.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.native_batch_norm.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten._native_batch_norm_legit.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten._batch_norm_with_update.default", STRIDES): Reason.ON_CPU_TOO,
    ("aten.native_batch_norm.default", "output 1: shape"): Reason.UNREAD,
    ("aten.native_batch_norm.default", "output 2: shape"): Reason.UNREAD,
    ("aten._native_batch_norm_legit.default", "output 1: shape"): Reason.UNREAD,
    ("aten._native_batch_norm_legit.default", "output 2: shape"): Reason.UNREAD,
    ("aten.log_sigmoid_forward.default", "output 1: shape"): Reason.UNREAD,
    ("aten.native_group_norm.default", STRIDES): Reason.ON_CUDA_TOO,
    ("aten._fft_r2c.default", STRIDES): Reason.COPIED,
}


def symbolic_mode() -> FakeTensorMode:
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def faked(mode: FakeTensorMode, value: Any) -> Any:
    return tree_map(lambda leaf: mode.from_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)


def hint(number: Any) -> Any:
    """The number that a symbolic size stands for."""
    return number.node.hint if isinstance(number, (torch.SymInt, torch.SymFloat, torch.SymBool)) else number


def same(found: Any, predicted: Any) -> bool:
    """Whether they are equal, except for numbers that depend on values (None)."""
    if isinstance(found, tuple) and isinstance(predicted, tuple) and len(found) == len(predicted):
        return all(expected is None or mine == expected for mine, expected in zip(found, predicted))
    return predicted is None or found == predicted


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a program can see of a tensor apart from its values."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # 0 for sizes of 1, which have no effect
    dtype: torch.dtype
    device: str
    offset: int
    layout: str
    memory_format: str  # the next operator derives it from all strides, including those of size-1 dimensions

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "Layout":
        shape = tuple(hint(size) for size in tensor.shape)
        strides, offset, memory_format = (), 0, ""
        if tensor.layout == torch.strided:
            empty = 0 in shape
            strides = tuple(0 if size == 1 or empty else hint(stride) for size, stride in zip(shape, tensor.stride()))
            offset = 0 if empty else hint(tensor.storage_offset())
            if tensor.dim() in (4, 5) and not empty:
                memory_format = str(suggest_memory_format(tensor))
        return cls(shape, strides, tensor.dtype, tensor.device.type, offset, str(tensor.layout), memory_format)

    def difference(self, predicted: "Layout") -> str:
        """The first attribute that differs, or an empty string."""
        for field in dataclasses.fields(self):
            found, expected = getattr(self, field.name), getattr(predicted, field.name)
            if not same(found, expected):
                return f"{field.name} {found}, predicted {expected}"
        return ""


def sharing(outputs: list[Any], inputs: list[torch.Tensor]) -> set[tuple[int, str]]:
    """The inputs and earlier outputs that each output shares memory with, and the outputs that are inputs."""
    pairs = set()
    for position, output in enumerate(outputs):
        if not isinstance(output, torch.Tensor):
            continue
        storage = storage_identity(output)
        others = [(f"input {i}", other) for i, other in enumerate(inputs)]
        others += [(f"output {i}", other) for i, other in enumerate(outputs[:position]) if isinstance(other, torch.Tensor)]
        for name, other in others:
            if other is output:
                pairs.add((position, f"is {name}"))
            elif storage is not None and storage == storage_identity(other):
                pairs.add((position, f"shares {name}"))
    return pairs


def differences(found: list[Any], inputs: list[torch.Tensor], predicted: list[Any],
                predicted_inputs: list[torch.Tensor]) -> Iterator[str]:
    """Sentences about outputs of one operator that are not as predicted."""
    if len(found) != len(predicted):
        yield f"{len(found)} outputs, predicted {len(predicted)}"
        return
    for position, (mine, prediction) in enumerate(zip(found, predicted)):
        if isinstance(mine, torch.Tensor) and isinstance(prediction, torch.Tensor):
            difference = Layout.of(mine).difference(Layout.of(prediction))
            if difference:
                yield f"output {position}: {difference}"
        elif isinstance(mine, torch.Tensor) or isinstance(prediction, torch.Tensor):
            yield f"output {position}: {type(mine).__name__}, predicted {type(prediction).__name__}"
        elif isinstance(mine, int) and mine != hint(prediction):
            yield f"output {position}: {mine}, predicted {prediction}"
    for mine, prediction in zip(inputs, predicted_inputs):  # an operator may resize what it writes
        difference = Layout.of(mine).difference(Layout.of(prediction))
        if difference:
            yield f"an input afterwards: {difference}"
    shared, expected = sharing(found, inputs), sharing(predicted, predicted_inputs)
    for position, what in sorted(shared - expected):
        yield f"output {position} {what}; not predicted"
    for position, what in sorted(expected - shared):
        yield f"output {position} does not; predicted: {what}"


class Predictions(TorchDispatchMode):
    """While active, predicts each operator's outputs before it runs; `wrong` has a sentence for each difference, and
    `compared` the operators."""

    def __init__(self) -> None:
        super().__init__()
        self.compared: dict[str, int] = {}
        self.wrong: dict[tuple[str, str], str] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name
        if name in NOT_PREDICTED or func.namespace != "aten":
            return func(*args, **kwargs)
        inputs = tensors_of((args, kwargs))
        prediction = problem = None
        before = [Layout.of(tensor) for tensor in inputs]
        with symbolic_mode() as mode, enable_python_dispatcher(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fake_args, fake_kwargs = faked(mode, (args, kwargs))
                prediction = tree_leaves(func(*fake_args, **fake_kwargs))
            except UNPREDICTABLE:
                pass
            except Exception as error:
                problem = f"prediction fails: {one_line(error)}"
        result = func(*args, **kwargs)  # if it fails, there is nothing to compare
        operator = str(func)
        if prediction is not None:
            self.compared[operator] = self.compared.get(operator, 0) + 1
            sentences = differences(tree_leaves(result), inputs, prediction, tensors_of((fake_args, fake_kwargs)))
        else:
            sentences = [problem] if problem else []
        for sentence in sentences:
            kind = " ".join(sentence.split(" ")[:3])
            if (operator, kind) not in EXPECTED:
                self.wrong.setdefault((operator, kind), f"{operator}: {sentence}; inputs {describe(before)}")
        return result


def describe(layouts: list[Layout]) -> str:
    return " ".join(f"{list(layout.shape)}/{list(layout.strides)}" for layout in layouts)


def swapped(tensor: torch.Tensor, one: int, other: int) -> torch.Tensor:
    """A tensor with the same values whose memory has these two dimensions in the other order."""
    return tensor.transpose(one, other).contiguous().transpose(one, other)


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """The first entry, expanded (stride 0)."""
    return tensor[:1].expand_as(tensor)


def arranged(sample: SampleInput, change) -> SampleInput:
    """The sample with the memory of its floating-point tensors arranged in another way."""
    def convert(tensor):
        if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or tensor.layout != torch.strided:
            return tensor
        return change(tensor.detach()).requires_grad_(tensor.requires_grad)

    return SampleInput(tree_map(convert, sample.input), args=tree_map(convert, tuple(sample.args)),
                       kwargs=tree_map(convert, sample.kwargs))


def channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.contiguous(memory_format=formats.get(tensor.dim(), torch.contiguous_format))


ARRANGEMENTS = {
    "contiguous": lambda sample: sample,
    "with gaps": lambda sample: sample.noncontiguous(),
    "transposed": lambda sample: arranged(sample, lambda t: swapped(t, -1, -2) if t.dim() > 1 else t),
    # like attention's operands in most networks: [batch, rows, heads, width] in memory
    "middle": lambda sample: arranged(sample, lambda t: swapped(t, 1, 2) if t.dim() > 2 else t),
    "channels_last": lambda sample: arranged(sample, channels_last),
    "expanded": lambda sample: arranged(sample, lambda t: expanded(t) if t.dim() > 1 else t),
}


def has_effect(name: str, sample: SampleInput) -> bool:
    least = {"transposed": 2, "middle": 3, "channels_last": 4, "expanded": 2}.get(name, 0)
    return any(t.dim() >= least and t.numel() > 1 for t in comparison.inputs_of(sample))


def run_and_compare(op: OpInfo, sample: SampleInput, device: str, predictions: Predictions) -> None:
    """Runs the operator and its backward pass; raises only the operator's own errors."""
    given = sample_on(op, sample, device)
    leaves = [tensor for tensor in comparison.inputs_of(given) if tensor.requires_grad and tensor.is_leaf]
    with predictions, torch.autograd.set_multithreading_enabled(False):
        outputs = tensors_of(sample.output_process_fn_grad(op(given.input, *given.args, **given.kwargs)))
        outputs = [output for output in outputs if output.requires_grad and output.is_floating_point()]
        if outputs and leaves:
            gradients = [torch.ones_like(output) for output in outputs]
            torch.autograd.grad(outputs, leaves, gradients, allow_unused=True)


def comparable() -> list[OpInfo]:
    """PyTorch's list, without operators that another device's compiler generates."""
    return [op for op in op_db if "jiterator" not in op.name and torch.float32 in op.supported_dtypes("cpu")]


def compare(op: OpInfo, device: str, samples: int, dtype: torch.dtype = torch.float32) -> Predictions:
    """The predictions for the first samples of this operator, in all arrangements of their memory."""
    predictions = Predictions()
    torch.manual_seed(0)
    drawn = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype.is_floating_point):
        drawn.append(sample)
        if len(drawn) == samples:
            break
    for sample in drawn:
        for name, arrange in ARRANGEMENTS.items():
            if not has_effect(name, sample):
                continue
            try:
                run_and_compare(op, arrange(sample), device, predictions)
            except Exception:
                continue  # other tests compare errors
    return predictions

