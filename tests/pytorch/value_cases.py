"""Operators that refuse some values of their operands, other than indexes and classes (index_cases.py), as functions of a
device and a number.

CASES: name → (numbers, function); some of the numbers are allowed. DRAWN: functions that draw random numbers, for which only
the refusal is compared. TAKEN: cases that the CPU refuses and the device accepts, with the reason.
"""

import torch
import torch.nn.functional as F

NAN, INFINITY = float("nan"), float("inf")
REALS = (-1., -.0, 0., .5, 1., NAN, INFINITY, -INFINITY)
COUNTS = (-1, 0, 1, 2, 3, 5)
CASES, DRAWN = {}, set()

IN_PYTORCH = "PyTorch looks at the values of q only if they are on the CPU, before it calls an operator; as on CUDA"
AS_ON_CUDA = "an integer division by zero is not an error on a device; as on CUDA, the result is arbitrary"
#: name → (numbers, reason)
TAKEN = {
    "quantile": ((-INFINITY, INFINITY, NAN), IN_PYTORCH),
    "nanquantile": ((-1., -INFINITY, INFINITY, NAN), IN_PYTORCH),
    **{f"{name} of integers": ((0,), AS_ON_CUDA) for name in ("floor_divide", "remainder", "fmod", "div trunc", "div floor")},
}
#: What the CPU does not check (it writes out of bounds, or never ends): name → numbers that the device refuses. With repeats of
#: -1 and 5, several threads write at the same time, before the first can report the error.
UNCHECKED = {"repeat_interleave, negative, of a size": (-1, 5)}


def numbers(device, *values, dtype=None):
    return torch.tensor(values, dtype=dtype, device=device)


def case(name, values, function):
    CASES[name] = (values, function)


def drawn(name, values, function):
    case(name, values, function)
    DRAWN.add(name)


def diagonal(device, value):
    return numbers(device, 1., 0., 0., value).view(2, 2)


def add_counts():
    for count in range(4):
        case(f"masked_scatter of {count}", COUNTS, lambda d, v, n=count:
             torch.zeros(5, device=d).masked_scatter(torch.arange(5, device=d) < v, torch.ones(n, device=d)))
    for dtype in (torch.int32, torch.int64):
        case(f"repeat_interleave {dtype}", COUNTS, lambda d, v, t=dtype:
             numbers(d, 5., 6.).repeat_interleave(numbers(d, 2, v, dtype=t)))
        case(f"repeat_interleave of numbers {dtype}", COUNTS, lambda d, v, t=dtype:
             torch.repeat_interleave(numbers(d, v, 2, dtype=t)))
        for size in (0, 1, 3, 4):
            case(f"repeat_interleave {dtype}, size {size}", COUNTS[1:], lambda d, v, t=dtype, n=size:
                 numbers(d, 5., 6.).repeat_interleave(numbers(d, 1, v, dtype=t), output_size=n))
            case(f"repeat_interleave of numbers {dtype}, size {size}", COUNTS[1:], lambda d, v, t=dtype, n=size:
                 torch.repeat_interleave(numbers(d, 1, v, dtype=t), output_size=n))
    case("repeat_interleave of one, size", COUNTS[1:], lambda d, v:
         numbers(d, 5., 6.).repeat_interleave(numbers(d, v), output_size=4))
    case("repeat_interleave, negative, of a size", COUNTS, lambda d, v:
         torch.repeat_interleave(numbers(d, 4 - v, v), output_size=4))
    case("repeat_interleave, size", (-1, 1, 2, 3), lambda d, v: torch.repeat_interleave(numbers(d, 1, 1), output_size=v))
    case("segment_reduce, lengths", COUNTS, lambda d, v:
         torch.segment_reduce(numbers(d, 1., 2., 3., 4.), "sum", lengths=numbers(d, 2, v)))
    case("bincount", COUNTS, lambda d, v: torch.bincount(numbers(d, 0, v)))
    case("bincount, weights", COUNTS, lambda d, v: torch.bincount(numbers(d, 0, v), weights=numbers(d, .5, .5)))
    case("one_hot", COUNTS, lambda d, v: F.one_hot(numbers(d, 0, v)))
    case("embedding_bag, first offset", (0, 1, 2), lambda d, v: F.embedding_bag(
        numbers(d, 0, 1, 0, 1), torch.ones(2, 2, device=d), numbers(d, v, 2)))
    case("embedding_bag, last offset", (1, 3, 4, 5, 9), lambda d, v: F.embedding_bag(
        numbers(d, 0, 1, 0, 1), torch.ones(2, 2, device=d), numbers(d, 0, v)))
    case("narrow", COUNTS, lambda d, v: torch.narrow(numbers(d, 1, 2, 3), 0, torch.tensor(v, device=d), 2))
    case("cov, fweights", COUNTS, lambda d, v: torch.cov(torch.ones(2, 2, device=d), fweights=numbers(d, 2, v)))
    case("pow", COUNTS, lambda d, v: torch.pow(numbers(d, 4, 5), v))
    scores = lambda d: torch.zeros(3, 2, 4, device=d).log_softmax(2)  # noqa: E731
    targets = lambda d: torch.ones(2, 2, dtype=torch.long, device=d)  # noqa: E731
    case("ctc_loss, input lengths", COUNTS, lambda d, v: F.ctc_loss(scores(d), targets(d), numbers(d, 3, v), numbers(d, 1, 1)))
    case("ctc_loss, target lengths", COUNTS, lambda d, v: F.ctc_loss(scores(d), targets(d), numbers(d, 3, 3), numbers(d, 1, v)))
    case("ctc_loss, lengths on the host", COUNTS, lambda d, v: F.ctc_loss(scores(d), targets(d), (3, v), (1, 1)))
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        for name in ("floor_divide", "remainder", "fmod"):
            case(f"{name} by a number {dtype}", (0, 1, 3), lambda d, v, t=dtype, f=name:
                 getattr(torch, f)(numbers(d, 4, 5, dtype=t), v))
    for name in ("floor_divide", "remainder", "fmod"):
        case(f"{name} of integers", (0, 1, 3), lambda d, v, f=name: getattr(torch, f)(numbers(d, 4, 5), numbers(d, 1, v)))
    for mode in ("trunc", "floor"):
        case(f"div {mode} of integers", (0, 1, 3), lambda d, v, m=mode:
             torch.div(numbers(d, 4, 5), numbers(d, 1, v), rounding_mode=m))


def add_layouts():
    check = {"check_invariants": True}
    case("sparse_coo", COUNTS, lambda d, v:
         torch.sparse_coo_tensor(numbers(d, 0, v)[None], numbers(d, 1., 2.), (2,), **check).to_dense())
    case("sparse_coo without sizes", COUNTS, lambda d, v:
         torch.sparse_coo_tensor(numbers(d, 0, v)[None], numbers(d, 1., 2.)).to_dense())
    case("sparse_csr, columns", COUNTS, lambda d, v: torch.sparse_csr_tensor(
        numbers(d, 0, 1, 2), numbers(d, 0, v), numbers(d, 1., 2.), (2, 2), **check).to_dense())
    case("sparse_csr, rows", COUNTS, lambda d, v: torch.sparse_csr_tensor(
        numbers(d, 0, v, 2), numbers(d, 0, 1), numbers(d, 1., 2.), (2, 2), **check).to_dense())
    case("nested tensor from a mask", COUNTS, lambda d, v: torch._nested_tensor_from_mask(
        torch.ones(1, 3, 2, device=d), torch.tensor([[True, v > 0, v > 1]], device=d).flip(v % 2)).to_padded_tensor(0.))
    case("fake_quantize", COUNTS, lambda d, v: torch.fake_quantize_per_channel_affine(
        torch.ones(2, 2, device=d), numbers(d, 1., 1.), numbers(d, 0, v, dtype=torch.int32), 0, 0, 2))


def add_draws():
    drawn("normal", REALS, lambda d, v: torch.normal(numbers(d, 0., 0.), numbers(d, 1., v)))
    drawn("normal, mean 0", REALS, lambda d, v: torch.normal(0., numbers(d, 1., v)))
    drawn("normal, one std", REALS, lambda d, v: torch.normal(numbers(d, 0., 0.), v))
    drawn("normal of a size", REALS, lambda d, v: torch.normal(0., v, (2,), device=d))
    drawn("normal half", REALS, lambda d, v: torch.normal(numbers(d, 0., 0.).half(), numbers(d, 1., v).half()))
    drawn("poisson", REALS[:6], lambda d, v: torch.poisson(numbers(d, 1., v)))
    drawn("binomial", (0., .5, 1.), lambda d, v: torch.binomial(numbers(d, 1., 4.), numbers(d, .5, v)))
    drawn("dropout", REALS, lambda d, v: F.dropout(numbers(d, 1., 1.), v))
    drawn("multinomial, too many", COUNTS, lambda d, v: torch.multinomial(numbers(d, 0., .5, .5), v))
    for name in ("normal_", "log_normal_", "cauchy_", "uniform_"):
        drawn(name, REALS, lambda d, v, f=name: getattr(torch.empty(2, device=d), f)(0., v))
    for name in ("exponential_", "geometric_", "bernoulli_"):
        drawn(name, REALS, lambda d, v, f=name: getattr(torch.empty(2, device=d), f)(v))
    drawn("random_", COUNTS, lambda d, v: torch.empty(2, device=d).random_(2, v))
    drawn("random_ of uint8", (-1, 0, 255, 256, 300), lambda d, v: torch.empty(2, dtype=torch.uint8, device=d).random_(v, v + 1))


def add_reals():
    case("quantile", REALS, lambda d, v: torch.quantile(numbers(d, 1., 2.), numbers(d, v, .5)))
    case("nanquantile", REALS, lambda d, v: torch.nanquantile(numbers(d, 1., 2.), numbers(d, v)))
    case("quantile of a number", REALS, lambda d, v: torch.quantile(numbers(d, 1., 2.), v))
    case("histc", REALS, lambda d, v: torch.histc(numbers(d, 1., v), 4))
    case("histc, range", REALS, lambda d, v: torch.histc(numbers(d, 1., 2.), 4, 0, v))
    case("histogram", REALS, lambda d, v: torch.histogram(numbers(d, 1., v), 4).hist)
    case("cov, aweights", REALS, lambda d, v: torch.cov(torch.ones(2, 2, device=d), aweights=numbers(d, 1., v)))
    case("arange", REALS[:6], lambda d, v: torch.arange(1, v, device=d))
    case("_assert_async", REALS, lambda d, v: torch._assert_async(torch.tensor(v, device=d)) or torch.zeros(()))
    case("istft, window", (0., 1.), lambda d, v: torch.istft(
        torch.zeros(3, 4, dtype=torch.cfloat, device=d), 4, window=torch.full((4,), v, device=d)))
    case("get_total_norm", REALS, lambda d, v: torch.nn.utils.get_total_norm([numbers(d, v)], error_if_nonfinite=True))
    case("gaussian_nll_loss", REALS, lambda d, v: F.gaussian_nll_loss(numbers(d, 1.), numbers(d, 1.), numbers(d, v)))
    for name in ("cholesky", "inv", "eigvals", "svdvals", "pinv", "matrix_rank", "det"):
        case(f"linalg.{name}", REALS[:6], lambda d, v, f=name: getattr(torch.linalg, f)(diagonal(d, v)))
    case("linalg.lu_factor", REALS[:5], lambda d, v: torch.linalg.lu_factor(diagonal(d, v)).LU)
    case("linalg.solve", REALS[:5], lambda d, v: torch.linalg.solve(diagonal(d, v), numbers(d, 1., 1.)))
    case("linalg.lstsq", REALS[:5], lambda d, v:
         torch.linalg.lstsq(diagonal(d, v), torch.ones(2, 1, device=d), driver="gels").solution)
    case("cholesky_inverse", REALS[:5], lambda d, v: torch.cholesky_inverse(diagonal(d, v)))


add_counts()
add_layouts()
add_draws()
add_reals()
