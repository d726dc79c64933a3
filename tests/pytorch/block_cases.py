"""Operators that work in blocks, at sizes around the limits of blocks, workgroups, loops and dispatches.

A family yields comparisons for a size. Sums are of small integers, which float32 represents exactly in any order, so an
element that is skipped or counted twice is detected. The other results are compared with float64 on the CPU.
"""

import dataclasses
import typing

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Comparison:
    what: str
    function: typing.Callable
    arguments: tuple
    #: None: bit-for-bit equal to the CPU's result. Otherwise the allowed difference from float64, relative to the
    #: largest number, or to `scale`.
    tolerance: float | None = None
    #: The magnitude of the terms that are summed, if they cancel.
    scale: float | None = None
    #: False: there is no kernel, so it may run on the CPU.
    native: bool = True


def around(*powers):
    """2^k - 1, 2^k and 2^k + 1."""
    return [2**k + d for k in powers for d in (-1, 0, 1)]


#: Blocks have 256, 1024 or 2048 elements. A launch has 32,768 workgroups in a row and at most 65,535 in a dimension: with 256
#: elements per workgroup, 2^23 elements fill a row and 2^24 need more than 65,535 workgroups; with 1024, 2^25 fill a row.
QUICK = around(8, 10, 11, 16) + [2**18 + 1]
ALL = around(8, 10, 11, 15, 16, 18, 20, 21, 22, 23, 24, 25)
#: Few rows with many columns, and the reverse.
QUICK_SHAPES = [(3, 65_537), (65_537, 3), (255, 257), (1, 70_000), (70_000, 1), (33, 4097)]
ALL_SHAPES = QUICK_SHAPES + [
    (1, 2**23 + 1), (2**23 + 1, 1), (2, 2**22 + 1), (2**22 + 1, 2), (5, 2**20 + 1), (2**20 + 1, 5), (64, 2**18 + 1),
    (2**18 + 1, 64), (65_536, 129), (129, 65_536), (32_769, 257), (257, 32_769), (2**25 + 1, 1), (1, 2**25 + 1)]


def whole(*shape, low=-2, high=3, dtype=torch.float32):
    return torch.randint(low, high, shape, dtype=torch.int32).to(dtype)


def gradient(function, period=2):
    """The gradients of all floating-point arguments, for an output gradient of numbers from 1 to `period` that varies along
    every dimension, whatever the sizes: a constant gradient through a softmax or norm gives only rounding errors."""
    def run(*arguments):
        leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in arguments]
        output = function(*leaves)
        places = torch.arange(output.numel(), device=output.device)
        numbers = (places + places // 4099).remainder(period).add(1).to(output.dtype)
        return torch.autograd.grad(output, [x for x in leaves if x.requires_grad], numbers.reshape(output.shape))
    return run


def signs(*shape):
    return torch.randint(0, 2, shape).mul(2).sub(1).float()


# --- single lines

def scans(n):
    x = whole(n)
    yield Comparison("cumsum", lambda x: x.cumsum(0), (x,))
    yield Comparison("cumsum of int64", lambda x: x.cumsum(0), (x.long(),))
    yield Comparison("cumprod", lambda x: x.cumprod(0), (signs(n),))
    yield Comparison("cummax", lambda x: x.cummax(0), (whole(n, low=-1000, high=1000),))
    yield Comparison("cummin", lambda x: x.cummin(0), (whole(n, low=-1000, high=1000),))
    yield Comparison("logcumsumexp", lambda x: x.logcumsumexp(0), (torch.randn(n),), 1e-5)


def narrow_scans(n):
    yield Comparison("cumsum of float64", lambda x: x.cumsum(0), (whole(n, dtype=torch.float64),))
    yield Comparison("cummax of float16", lambda x: x.cummax(0), (whole(n, low=-900, high=900, dtype=torch.float16),))
    yield Comparison("cumsum of bfloat16", lambda x: x.cumsum(0), (signs(n).mul(0.5).bfloat16(),), 1e-2)
    yield Comparison("cumprod of int16", lambda x: x.cumprod(0), (signs(n).short(),))
    yield Comparison("cummin of int32", lambda x: x.cummin(0), (whole(n, low=-10**6, high=10**6, dtype=torch.int32),))
    yield Comparison("logcumsumexp of float64", lambda x: x.logcumsumexp(0), (torch.randn(n, dtype=torch.float64),),
                     1e-12)


def reductions(n):
    x = whole(n)
    yield Comparison("sum", lambda x: x.sum(), (x,))
    yield Comparison("prod", lambda x: x.prod(), (signs(n),))
    yield Comparison("amax, amin, argmax, argmin", lambda x: (x.amax(), x.amin(), x.argmax(), x.argmin()),
                     (whole(n, low=-10**6, high=10**6),))
    yield Comparison("norm", lambda x: (x.norm(1), torch.linalg.vector_norm(x, 3)), (x,), 1e-5)
    yield Comparison("var, std", lambda x: (x.var(), x.std(), x.mean()), (torch.randn(n) + 0.5,), 1e-5)
    yield Comparison("count_nonzero, any, all", lambda x: (x.count_nonzero(), x.any(), x.all()), (x,))
    yield Comparison("logsumexp", lambda x: x.logsumexp(0), (torch.randn(n),), 1e-5)
    yield Comparison("norm of float64", lambda x: torch.linalg.vector_norm(x, 3), (x.double(),), 1e-12)


def selections(n):
    x = whole(n)
    mask = x > 0
    yield Comparison("nonzero", lambda x: x.nonzero(), (x,))
    yield Comparison("masked_select", lambda x, m: x.masked_select(m), (x, mask))
    yield Comparison("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), (x, mask, whole(n)))
    yield Comparison("masked_fill", lambda x, m: x.masked_fill(m, 7), (x, mask))
    yield Comparison("bincount", lambda x: x.bincount(), (whole(n, low=0, high=300).long(),), native=False)
    yield Comparison("histc", lambda x: x.histc(64, -2, 2), (x,), native=False)


def accumulations(n):
    same = torch.zeros(n, dtype=torch.long)
    spread = torch.randint(0, n, (n,))
    few = torch.randint(0, 3, (n,))
    values = whole(n)
    for what, index in (("one place", same), ("three places", few), ("all places", spread)):
        def accumulate(i, v):
            return v.new_zeros(i.numel()).index_put_((i,), v, accumulate=True)
        yield Comparison(f"index_put, {what}", accumulate, (index, values))
        yield Comparison(f"index_add, {what}", lambda i, v: v.new_zeros(i.numel()).index_add_(0, i, v), (index, values))
    yield Comparison("scatter_add", lambda i, v: v.new_zeros(i.numel()).scatter_add_(0, i, v), (few, values))
    yield Comparison("scatter_reduce", lambda i, v: v.new_zeros(9).scatter_reduce_(0, i, v, "amax"), (few, values))
    yield Comparison("embedding", gradient(lambda w, i: F.embedding(i, w)), (torch.zeros(3, 1), few))
    yield Comparison("embedding_bag", gradient(lambda w, i: F.embedding_bag(i.view(1, -1), w, mode="sum")),
                     (torch.zeros(3, 2), few))
    yield Comparison("gather", lambda v, i: v.gather(0, i), (values, spread))
    yield Comparison("index_select", lambda v, i: v.index_select(0, i), (values, spread))
    yield Comparison("index_copy", lambda v, i: v.new_zeros(v.shape).index_copy_(0, i, v), (values, torch.randperm(n)))


def sorts(n):
    x = whole(n, low=-1000, high=1000)
    yield Comparison("sort", lambda x: x.sort(stable=True), (x,))
    yield Comparison("sort of int64, descending", lambda x: x.sort(stable=True, descending=True),
                     (torch.randint(-2**40, 2**40, (n,)),))
    yield Comparison("sort of bytes", lambda x: x.sort(stable=True), (whole(n, low=0, high=200, dtype=torch.uint8),))
    yield Comparison("sort of float16, descending", lambda x: x.sort(stable=True, descending=True),
                     (whole(n, low=-900, high=900, dtype=torch.float16),))
    unique = torch.randperm(n).float()
    yield Comparison("topk, many", lambda x: x.topk(min(2048, x.numel())), (unique,))
    yield Comparison("topk", lambda x: x.topk(min(100, x.numel())), (unique,))
    yield Comparison("kthvalue, median", lambda x: (x.kthvalue(x.numel() // 3 + 1), x.median()), (unique,))
    yield Comparison("mode", lambda x: x.mode()[0], (x,), native=False)
    yield Comparison("unique", lambda x: x.unique(return_inverse=True, return_counts=True), (x,),
                     native=False)
    yield Comparison("searchsorted", lambda b, x: torch.searchsorted(b, x), (x.sort()[0], whole(n)))


def copies(n):
    x = whole(n)
    yield Comparison("clone", lambda x: x.clone(), (x,))
    yield Comparison("with a step", lambda x: x[::2].contiguous(), (x,))
    yield Comparison("to int16", lambda x: x.to(torch.int16), (x,))
    yield Comparison("of bytes", lambda x: x.clone(), (x.to(torch.int8),))
    yield Comparison("of 16 bytes", lambda x: x.clone(), (torch.complex(x.double(), x.double()),))
    yield Comparison("expand", lambda x: x[:3, None].expand(3, x.numel() // 3 + 1).contiguous(), (x,))
    yield Comparison("flip, roll", lambda x: (x.flip(0), x.roll(5)), (x,))
    yield Comparison("cat", lambda x: torch.cat([x, x]), (x,))
    yield Comparison("fill", lambda x: torch.full_like(x, 3), (x,))
    yield Comparison("arange", lambda x: torch.arange(x.numel(), device=x.device), (x,))
    yield Comparison("repeat_interleave", lambda x: x.repeat_interleave(x.remainder(3).long()), (x,))
    yield Comparison("elementwise", lambda x: x * 2 + x, (x,))
    yield Comparison("replication_pad1d", lambda x: F.pad(x.view(1, 1, -1), (3, 2), mode="replicate"), (x,))


def pooling(n):
    x = whole(1, 1, n, low=-1000, high=1000)
    window = max(n - 3, 1)
    yield Comparison("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), (x,))
    yield Comparison("max_pool1d, a large window", lambda x: F.max_pool1d(x, window, 1, return_indices=True), (x,))
    yield Comparison("max_pool1d, a large window, gradient", gradient(lambda x: F.max_pool1d(x, window, 1)), (x,))
    yield Comparison("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 1, return_indices=True), (x,))
    yield Comparison("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 2), (x,), 1e-7, scale=500)
    yield Comparison("avg_pool1d, a large window", lambda x: F.avg_pool1d(x, window, 1), (x,), 1e-7, scale=500)
    yield Comparison("avg_pool1d, a large window, gradient", gradient(lambda x: F.avg_pool1d(x, window, 1)), (x,), 1e-5)


def upsampling(n):
    small = torch.rand(1, 1, 3)
    for mode in ("nearest", "linear"):
        def up(x, mode=mode):
            return F.interpolate(x, size=n, mode=mode)
        yield Comparison(mode, up, (small,), 1e-5)
        yield Comparison(mode + ", gradient", gradient(up), (small,), 1e-5)
    yield Comparison("replication_pad1d, gradient", gradient(lambda x: F.pad(x, (n, n), mode="replicate")),
                     (torch.zeros(1, 1, 4),))


def products(n):
    a, b = whole(n), whole(n)
    yield Comparison("dot", lambda a, b: a.dot(b), (a, b))
    yield Comparison("matrix, long sums", lambda a, b: torch.stack([a, b, a]) @ torch.stack([b, a], 1), (a, b))
    yield Comparison("matrix of float64, long sums", lambda a, b: torch.stack([a, b]) @ torch.stack([b, a, b], 1),
                     (a.double(), b.double()))
    yield Comparison("matrix of int64, long sums", lambda a, b: torch.stack([a, b]) @ torch.stack([b, a], 1),
                     (a.long(), b.long()))
    yield Comparison("matrix, many rows", lambda a, b: torch.stack([a, b], 1) @ torch.stack([a[:5], b[:5]]), (a, b))
    yield Comparison("matrix times vector, columns in memory",
                     lambda a, b: torch.stack([a, b], 1).t() @ b, (a, b))
    yield Comparison("batch", lambda a, b: torch.bmm(a.view(-1, 1, 1), b.view(-1, 1, 1)), (a, b))


def convolutions(n):
    x = whole(1, 2, n)
    kernel = torch.tensor([[[1.0, -1, 2]] * 2] * 3)
    yield Comparison("conv1d", lambda x, w: F.conv1d(x, w), (x, kernel))
    yield Comparison("conv1d, gradients", gradient(lambda x, w: F.conv1d(x, w)), (x, kernel))
    yield Comparison("conv1d, groups", lambda x, w: F.conv1d(x, w, groups=2), (x, kernel[:2, :1].contiguous()))
    yield Comparison("conv1d, groups, gradients", gradient(lambda x, w: F.conv1d(x, w, groups=2)),
                     (x, kernel[:2, :1].contiguous()))


def losses(n):
    target = torch.randint(0, 3, (n,))
    scores = torch.randn(n, 3)
    yield Comparison("cross_entropy", lambda x, t: F.cross_entropy(x, t), (scores, target), 1e-5)
    yield Comparison("cross_entropy, gradient", gradient(lambda x, t: F.cross_entropy(x, t, reduction="sum")),
                     (scores, target), 1e-4)
    yield Comparison("mse", lambda x, y: F.mse_loss(x, y, reduction="sum"),
                     (whole(n, low=0, high=2), whole(n, low=0, high=2)))


# --- rows and columns

def scans_of_matrices(rows, columns):
    x = whole(rows, columns)
    for dim in (0, 1):
        yield Comparison(f"cumsum, {dim}", lambda x, dim=dim: x.cumsum(dim), (x,))
        yield Comparison(f"cummax, {dim}", lambda x, dim=dim: x.cummax(dim), (x,))
    yield Comparison("logcumsumexp", lambda x: x.logcumsumexp(0), (x,), 1e-5)


def reductions_of_matrices(rows, columns):
    x = whole(rows, columns)
    for dim in (0, 1):
        yield Comparison(f"sum, {dim}", lambda x, dim=dim: x.sum(dim), (x,))
        yield Comparison(f"max, {dim}", lambda x, dim=dim: x.amax(dim), (x,))
        yield Comparison(f"argmin, {dim}", lambda x, dim=dim: x.argmin(dim), (x,))
        yield Comparison(f"var, {dim}", lambda x, dim=dim: x.var(dim, correction=0), (x,), 1e-5)
        yield Comparison(f"norm, {dim}", lambda x, dim=dim: torch.linalg.vector_norm(x, 3, dim), (x,), 1e-5)


def softmax(rows, columns):
    x = torch.randn(rows, columns)
    for dim in (0, 1):
        yield Comparison(f"softmax, {dim}", lambda x, dim=dim: x.softmax(dim), (x,), 1e-4)
        yield Comparison(f"log_softmax, {dim}", lambda x, dim=dim: x.log_softmax(dim), (x,), 1e-5)
        yield Comparison(f"softmax, {dim}, gradient", gradient(lambda x, dim=dim: x.softmax(dim), 11), (x,), 1e-4)
        yield Comparison(f"log_softmax, {dim}, gradient", gradient(lambda x, dim=dim: x.log_softmax(dim), 11), (x,),
                         1e-4)


def norms(rows, columns):
    x = torch.randn(rows, columns)
    if columns > 1:
        yield Comparison("layer_norm", lambda x: F.layer_norm(x, x.shape[1:]), (x,), 1e-4)
        yield Comparison("rms_norm", lambda x: F.rms_norm(x, x.shape[1:], eps=1e-5), (x,), 1e-4)
        yield Comparison("layer_norm, gradients", gradient(lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), 11),
                         (x, torch.rand(columns), torch.rand(columns)), 1e-4)
        yield Comparison("rms_norm, gradients", gradient(lambda x, w: F.rms_norm(x, x.shape[1:], w, 1e-5), 11),
                         (x, torch.rand(columns)), 1e-4)
        yield Comparison("group_norm", lambda x: F.group_norm(x.view(1, x.shape[0], -1), 1), (x,), 1e-4)
    if rows > 1:
        yield Comparison("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), (x,), 1e-4)
        yield Comparison("batch_norm, gradient", gradient(lambda x: F.batch_norm(x, None, None, training=True), 11),
                         (x,), 1e-3)


def sorts_of_matrices(rows, columns):
    x = whole(rows, columns, low=-1000, high=1000)
    for dim in (0, 1):
        yield Comparison(f"sort, {dim}", lambda x, dim=dim: x.sort(dim=dim, stable=True), (x,))
        yield Comparison(f"sort of bytes, {dim}", lambda x, dim=dim: x.sort(dim=dim, stable=True),
                         (whole(rows, columns, low=0, high=200, dtype=torch.uint8),))
        yield Comparison(f"median, {dim}", lambda x, dim=dim: x.median(dim)[0], (x,))
        yield Comparison(f"topk, {dim}", lambda x, dim=dim: x.topk(1, dim)[0], (x,))


def copies_of_matrices(rows, columns):
    x = whole(rows, columns)
    yield Comparison("transposed", lambda x: x.t().contiguous(), (x,))
    yield Comparison("inner of three", lambda x: x.view(rows, columns, 1).expand(rows, columns, 2).transpose(0, 2)
                     .contiguous(), (x,))
    yield Comparison("tril", lambda x: x.tril(), (x,))
    yield Comparison("nonzero", lambda x: x.nonzero(), (x,))
    yield Comparison("index rows", lambda x, i: x[i], (x, torch.randint(0, rows, (rows,))))
    yield Comparison("index_add rows", lambda x, i: x.new_zeros(x.shape).index_add_(0, i, x),
                     (x, torch.randint(0, min(rows, 5), (rows,))))


@dataclasses.dataclass
class Family:
    make: typing.Callable
    #: The largest number of elements to test: beyond that, sorting takes minutes on a CPU driver.
    max_elements: int = 2**25 + 1


OF_LINES = {
    "scans": Family(scans),
    "scans of other dtypes": Family(narrow_scans, 2**24 + 1),
    "reductions": Family(reductions),
    "selections": Family(selections),
    "accumulations": Family(accumulations, 2**23 + 1),
    "sorts": Family(sorts, 2**22 + 1),
    "copies": Family(copies),
    "pooling": Family(pooling, 2**20 + 1),
    "upsampling": Family(upsampling, 2**22 + 1),
    "products": Family(products, 2**22 + 1),
    "convolutions": Family(convolutions, 2**23 + 1),
    "losses": Family(losses, 2**23 + 1),
}
OF_MATRICES = {
    "scans": Family(scans_of_matrices),
    "reductions": Family(reductions_of_matrices),
    "softmax": Family(softmax, 2**24 + 99),
    "norms": Family(norms, 2**24 + 99),
    "sorts": Family(sorts_of_matrices, 2**22 + 2),
    "copies": Family(copies_of_matrices),
}


# --- loops longer than the limit of a CPU driver

def one_lstm(x, state, *weights):
    return torch.lstm(x, (state, state), weights, True, 1, 0.0, True, False, False)[0]


def long_alignment(x):
    return F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2, 2]], device=x.device), (len(x),), (3,))


def long_loops():
    """For each kernel whose loops depend on sizes, a size above 65,535 iterations that is quick on a CPU driver."""
    yield Comparison("cumsum", lambda x: x.cumsum(0), (whole(8_400_001),))
    yield Comparison("cumprod", lambda x: x.cumprod(0), (signs(6_711_001),))
    yield Comparison("cummax", lambda x: x.cummax(0), (whole(6_711_001),))
    yield Comparison("cummin", lambda x: x.cummin(0), (whole(6_711_001),))
    yield Comparison("logcumsumexp", lambda x: x.logcumsumexp(0), (torch.randn(6_711_001),), 1e-5)
    yield Comparison("sum of bytes", lambda x: x.sum(), (torch.ones(67_200_001, dtype=torch.int8),))
    yield Comparison("softmax of columns", lambda x: x.softmax(0), (torch.randn(200_001, 64),), 1e-4)
    yield Comparison("log_softmax of columns, gradient", gradient(lambda x: x.log_softmax(0), 11),
                     (torch.randn(140_001, 64),), 1e-4)
    yield Comparison("layer_norm", lambda x: F.layer_norm(x, x.shape[1:]), (torch.randn(1, 5_700_001),), 1e-4)
    yield Comparison("layer_norm, gradient", gradient(lambda x: F.layer_norm(x, x.shape[1:]), 11),
                     (torch.randn(1, 8_400_001),), 1e-4)
    yield Comparison("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 2), (torch.rand(1, 2, 640, 640),), 1e-5)
    yield Comparison("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
                     (torch.arange(300 * 300).float().view(1, 1, 300, 300),))
    yield Comparison("max_pool2d", lambda x: F.max_pool2d(x, (1, 70_000), (1, 10), return_indices=True),
                     (torch.arange(70_100).float().view(1, 1, 1, -1),))
    yield Comparison("adaptive_max_pool2d, gradient", gradient(lambda x: F.adaptive_max_pool2d(x, (1, 70_000))),
                     (whole(1, 2, 1, 1),))
    yield Comparison("avg_pool2d", lambda x: F.avg_pool2d(x, (1, 70_000), (1, 10)), (torch.rand(1, 1, 1, 70_100),),
                     1e-5)
    yield Comparison("bilinear, gradient", gradient(lambda x: F.interpolate(x, size=(300, 300), mode="bilinear")),
                     (torch.zeros(1, 2, 1, 1),), 1e-5)
    yield Comparison("nearest of float16, gradient", gradient(lambda x: F.interpolate(x, size=70_000)),
                     (torch.zeros(1, 1, 2, dtype=torch.float16),), 1e-3)
    weights = (torch.randn(4, 1), torch.randn(4, 1), torch.randn(4), torch.randn(4))
    yield Comparison("lstm, many steps", one_lstm, (torch.randn(20_001, 2, 1), torch.randn(1, 2, 1), *weights), 1e-4)
    yield Comparison("lstm, many steps, gradient", gradient(one_lstm),
                     (torch.randn(20_001, 2, 1), torch.randn(1, 2, 1), *weights), 1e-4)
    yield Comparison("attention", F.scaled_dot_product_attention,
                     (torch.randn(1, 1, 9, 128), torch.randn(1, 1, 70_001, 128), torch.rand(1, 1, 70_001, 128)), 1e-4)
    yield Comparison("attention, gradients, many keys", gradient(F.scaled_dot_product_attention),
                     (torch.randn(1, 2, 5, 128), torch.randn(1, 2, 42_001, 128), torch.rand(1, 2, 42_001, 128)), 1e-3)  # its sums nearly cancel
    yield Comparison("attention, gradients, many queries", gradient(F.scaled_dot_product_attention),
                     (torch.randn(1, 1, 35_001, 128), torch.randn(1, 1, 8, 128), torch.rand(1, 1, 8, 128)), 1e-4)
    yield Comparison("conv2d, a large kernel", lambda x, w: F.conv2d(x, w),
                     (whole(1, 1, 310, 310), whole(1, 1, 300, 300)))
    yield Comparison("conv2d, groups, a large kernel", lambda x, w: F.conv2d(x, w, groups=2),
                     (whole(1, 2, 300, 302), whole(2, 1, 300, 300)))
    yield Comparison("product of float64", lambda a, b: a @ b,
                     (whole(2, 120_001, dtype=torch.float64), whole(120_001, 3, dtype=torch.float64)))
    yield Comparison("grid_sample, many channels", lambda x, g: F.grid_sample(x, g, align_corners=False),
                     (torch.rand(1, 66_000, 2, 2), torch.rand(1, 2, 1, 2)), 1e-4)
    yield Comparison("grid_sample, many channels, gradients",
                     gradient(lambda x, g: F.grid_sample(x, g, align_corners=False)),
                     (torch.rand(1, 9_000, 2, 2), torch.rand(1, 2, 1, 2) - 0.5), 1e-4)
    yield Comparison("cdist, many columns", lambda x, y: torch.cdist(x, y, p=1.), (torch.rand(2, 1_100_000),
                                                                               torch.rand(1, 1_100_000)), 1e-5)
    yield Comparison("cdist, many rows, gradient", gradient(lambda x, y: torch.cdist(x, y, p=1.)),
                     (torch.rand(2, 2), torch.rand(66_000, 2)), 1e-5)
    yield Comparison("ctc_loss, many time steps", long_alignment, (torch.randn(66_000, 1, 4, dtype=torch.float64),), 1e-6)
    yield Comparison("ctc_loss, many time steps, gradient", gradient(long_alignment),
                     (torch.randn(66_000, 1, 4, dtype=torch.float64),), 1e-6)


def slow_long_loops():
    """The same, for cases that take a CPU driver more than a few seconds."""
    yield Comparison("embedding, one row", gradient(lambda w, i: F.embedding(i, w)),
                     (torch.zeros(3, 1), torch.zeros(17_000_001, dtype=torch.long)), 1e-6)
    yield Comparison("index_add of int64, one place", lambda i, v: v.new_zeros(2).index_add_(0, i, v),
                     (torch.ones(17_000_001, dtype=torch.long), whole(17_000_001, dtype=torch.int64)))
    yield Comparison("softmax of a row", lambda x: x.softmax(0), (torch.randn(35_000_001),), 1e-4)
    yield Comparison("softmax of a row of float64", lambda x: x.softmax(0),
                     (torch.randn(9_000_001, dtype=torch.float64),), 1e-11)
    yield Comparison("group_norm", lambda x: F.group_norm(x, 1), (torch.randn(1, 3, 2_900_001),), 1e-4)
    yield Comparison("convolution of a large image", lambda x, w: F.conv2d(x, w, padding=1),
                     (whole(1, 3, 1500, 1500), whole(9, 3, 3, 3)))
    yield Comparison("convolution of a large image, one channel", lambda x, w: F.conv2d(x, w, padding=1),
                     (whole(1, 1, 4200, 4200), whole(1, 1, 3, 3)))
    yield Comparison("medians of many lines", lambda x: x.median(1)[0], (whole(2**23 + 300, 2),))
    yield Comparison("instance_norm of many channels", lambda x: F.instance_norm(x),
                     (torch.randn(1, 2**23 + 300, 2),), 1e-3)
    yield Comparison("cummax with indices", lambda x: x.cummax(0), (whole(400_001, 33),))
    yield Comparison("attention, causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                     (torch.randn(1, 1, 90, 8), torch.randn(1, 1, 70_001, 8), torch.rand(1, 1, 70_001, 128)), 1e-4)
    yield Comparison("conv1d, gradient of the weight", gradient(lambda x, w: F.conv1d(x, w)),
                     (whole(1, 1, 16_900_003), torch.ones(1, 1, 2)))
    yield Comparison("batch of long products", lambda a, b: torch.bmm(a, b.transpose(1, 2)),
                     (whole(260, 2, 110_001, dtype=torch.int32),
                      whole(1, 2, 110_001, dtype=torch.int32).expand(260, -1, -1)))
    yield Comparison("fold", lambda x: F.fold(x, (1, 140_003), (1, 2), dilation=70_000), (whole(1, 2, 70_003),))
