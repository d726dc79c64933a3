"""Every operator that takes indexes or classes, as a function of a device and a tensor of one index.

CASES: name → (size of the indexed dimension, function). UNCHECKED: with an index out of range, the CPU silently reads or writes
out of bounds, so only the device runs the case, and it must report an error.
"""

import torch
import torch.nn.functional as F

from support import pytorch_before

aten = torch.ops.aten
CASES = {}
UNCHECKED = frozenset(("embedding_dense_backward", "embedding_dense_backward by frequency", "embedding_dense_backward padding",
                       "nll_loss_backward", "nll_loss2d_backward", "embedding_bag backward sum", "embedding_bag backward mean",
                       "embedding_bag backward max", "_unsafe_masked_index", "select backward"))

# The CPU supports only int64 here, the device also int32: the CPU runs with int64.
INT64_ON_CPU = {"index_fill", "index_fill tensor", "nll_loss_backward"}
if pytorch_before(2, 13):
    INT64_ON_CPU |= {"cross_entropy of one", "cross_entropy ignoring -1", "cross_entropy many"}
    INT64_ON_CPU |= {f"{loss}{options} {how}" for how in ("none", "mean", "sum") for loss, options in (
        ("nll_loss", ""), ("nll_loss", " weight"), ("cross_entropy", ""), ("cross_entropy", " smoothing"),
        ("cross_entropy", " smoothing weight"))}


def numbers(device, *sizes):
    return torch.arange(1., 1 + torch.Size(sizes).numel()).reshape(sizes).to(device)


def matrix(device):
    return numbers(device, 4, 3)


def case(name, size, function):
    CASES[name] = (size, function)


def embedding_gradient(device, index, padding=-1, by_frequency=False):
    return aten.embedding_dense_backward(numbers(device, 1, 3), index, 4, padding, by_frequency)


def bag_gradient(mode):
    def function(device, index):
        weight = matrix(device).requires_grad_()
        F.embedding_bag(index[None], weight, mode=mode).sum().backward()
        return weight.grad
    return function


def add_embeddings():
    case("embedding", 4, lambda d, i: F.embedding(i, matrix(d)))
    case("embedding padding", 4, lambda d, i: F.embedding(i, matrix(d), padding_idx=1))
    case("embedding max_norm", 4, lambda d, i: F.embedding(i, matrix(d), max_norm=1.))
    case("embedding_dense_backward", 4, embedding_gradient)
    case("embedding_dense_backward by frequency", 4, lambda d, i: embedding_gradient(d, i, by_frequency=True))
    case("embedding_dense_backward padding", 4, lambda d, i: embedding_gradient(d, i, padding=2))
    for mode in ("sum", "mean", "max"):
        case(f"embedding_bag {mode}", 4, lambda d, i, mode=mode: F.embedding_bag(i[None], matrix(d), mode=mode))
        case(f"embedding_bag padding {mode}", 4,
             lambda d, i, mode=mode: F.embedding_bag(i[None], matrix(d), mode=mode, padding_idx=1))
        case(f"embedding_bag backward {mode}", 4, bag_gradient(mode))
    case("embedding_bag weights", 4,
         lambda d, i: F.embedding_bag(i[None], matrix(d), mode="sum", per_sample_weights=numbers(d, 1, 1)))
    case("one_hot", 4, lambda d, i: F.one_hot(i, 4))


def add_selections():
    case("index_select", 4, lambda d, i: matrix(d).index_select(0, i))
    case("index_select last", 3, lambda d, i: matrix(d).index_select(1, i))
    case("index_select of a number", 1, lambda d, i: torch.tensor(3., device=d).index_select(0, i))
    case("gather", 4, lambda d, i: matrix(d).gather(0, i[None]))
    case("gather of a number", 1, lambda d, i: torch.tensor(3., device=d).gather(0, i[0]))
    case("gather backward", 4, lambda d, i: aten.gather_backward(numbers(d, 1, 1), matrix(d), 0, i[None], False))
    case("take_along_dim", 4, lambda d, i: torch.take_along_dim(matrix(d), i[None], 0))
    case("take", 12, lambda d, i: matrix(d).take(i))
    case("index", 4, lambda d, i: matrix(d)[i])
    case("index of two", 3, lambda d, i: matrix(d)[i - i, i])
    case("_unsafe_index", 4, lambda d, i: aten._unsafe_index(matrix(d), [i]))
    case("index_select backward", 4, lambda d, i: aten.index_select_backward(numbers(d, 1, 3), [4, 3], 0, i))
    case("max_unpool2d", 4, lambda d, i: F.max_unpool2d(numbers(d, 1, 1, 1, 1), i[None, None, None], 2))
    case("max_unpool3d", 8, lambda d, i: F.max_unpool3d(numbers(d, 1, 1, 1, 1, 1), i[None, None, None, None], 2))
    case("searchsorted sorter", 1, lambda d, i: torch.searchsorted(numbers(d, 1), numbers(d, 1), sorter=i))


def add_writes():
    for reduce in (None, "add", "multiply"):
        options = {"reduce": reduce} if reduce else {}
        case(f"scatter {reduce}", 4, lambda d, i, o=options: matrix(d).scatter(0, i[None], numbers(d, 1, 1), **o))
        case(f"scatter a number {reduce}", 4, lambda d, i, o=options: matrix(d).scatter(0, i[None], 5., **o))
    case("scatter_add", 4, lambda d, i: matrix(d).scatter_add(0, i[None], numbers(d, 1, 1)))
    case("scatter_add complex", 4,
         lambda d, i: torch.view_as_real(matrix(d).cfloat().scatter_add_(0, i[None], numbers(d, 1, 1).cfloat())))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for with_self in (True, False):
            case(f"scatter_reduce {reduce} {with_self}", 4, lambda d, i, r=reduce, s=with_self:
                 matrix(d).scatter_reduce(0, i[None], numbers(d, 1, 1), r, include_self=s))
            if reduce != "sum":
                case(f"index_reduce {reduce} {with_self}", 4, lambda d, i, r=reduce, s=with_self:
                     matrix(d).index_reduce(0, i, numbers(d, 1, 3), r, include_self=s))
    case("index_add", 4, lambda d, i: matrix(d).index_add(0, i, numbers(d, 1, 3)))
    case("index_add of a number", 1, lambda d, i: torch.tensor(3., device=d).index_add(0, i, numbers(d, 1)))
    case("index_add scaled", 4, lambda d, i: matrix(d).index_add(0, i, numbers(d, 1, 3), alpha=2))
    case("index_add vector", 4, lambda d, i: numbers(d, 4).index_add(0, i, numbers(d, 1)))
    case("index_add complex", 4,
         lambda d, i: torch.view_as_real(matrix(d).cfloat().index_add(0, i, numbers(d, 1, 3).cfloat())))
    case("index_copy", 4, lambda d, i: matrix(d).index_copy(0, i, numbers(d, 1, 3)))
    case("index_fill", 4, lambda d, i: matrix(d).index_fill(0, i, 2.))
    case("index_fill tensor", 4, lambda d, i: matrix(d).index_fill(0, i, torch.tensor(2., device=d)))
    case("put", 12, lambda d, i: matrix(d).put(i, numbers(d, 1)))
    case("put accumulate", 12, lambda d, i: matrix(d).put(i, numbers(d, 1), accumulate=True))
    one = lambda d: torch.tensor(1., device=d)  # noqa: E731
    case("index_put", 4, lambda d, i: matrix(d).index_put((i,), one(d)))
    case("index_put accumulate", 4, lambda d, i: matrix(d).index_put((i,), one(d), accumulate=True))
    case("_unsafe_index_put", 4, lambda d, i: aten._unsafe_index_put(matrix(d), [i], one(d)))
    case("bincount", None, lambda d, i: torch.bincount(i, minlength=4))


def add_losses():
    scores = lambda d: numbers(d, 1, 4)  # noqa: E731
    logs = lambda d: scores(d).log_softmax(1)  # noqa: E731
    for how in ("none", "mean", "sum"):
        case(f"nll_loss {how}", 4, lambda d, i, r=how: F.nll_loss(logs(d), i, reduction=r))
        case(f"nll_loss weight {how}", 4, lambda d, i, r=how: F.nll_loss(logs(d), i, weight=numbers(d, 4), reduction=r))
        case(f"nll_loss2d {how}", 4, lambda d, i, r=how: F.nll_loss(logs(d)[:, :, None, None], i[None, None], reduction=r))
        case(f"cross_entropy {how}", 4, lambda d, i, r=how: F.cross_entropy(scores(d), i, reduction=r))
        case(f"cross_entropy smoothing {how}", 4,
             lambda d, i, r=how: F.cross_entropy(scores(d), i, reduction=r, label_smoothing=.1))
        case(f"cross_entropy smoothing weight {how}", 4,
             lambda d, i, r=how: F.cross_entropy(scores(d), i, reduction=r, label_smoothing=.1, weight=numbers(d, 4)))
        case(f"multi_margin_loss {how}", 4, lambda d, i, r=how: F.multi_margin_loss(scores(d), i, reduction=r))
        case(f"multi_margin_loss half {how}", 4,
             lambda d, i, r=how: F.multi_margin_loss(scores(d) if d == "cpu" else scores(d).half(), i, reduction=r).float())
        case(f"multilabel_margin_loss {how}", 1,
             lambda d, i, r=how: F.multilabel_margin_loss(numbers(d, 1, 1), i[None], reduction=r))
    case("cross_entropy of one", 4, lambda d, i: F.cross_entropy(numbers(d, 4), i[0]))
    case("cross_entropy ignoring -1", 4, lambda d, i: F.cross_entropy(scores(d), i, ignore_index=-1))
    case("cross_entropy sequence", 4, lambda d, i: F.cross_entropy(numbers(d, 1, 4, 1), i[None]))
    case("cross_entropy many", 4, lambda d, i: F.cross_entropy(numbers(d, 3000, 4), i.repeat(3000)))
    one = lambda d: torch.tensor(1., device=d)  # noqa: E731
    case("nll_loss_backward", 4, lambda d, i: aten.nll_loss_backward(one(d), logs(d), i, None, 1, -100, one(d)))
    case("nll_loss2d_backward", 4, lambda d, i: aten.nll_loss2d_backward(
        one(d), logs(d)[:, :, None, None], i[None, None], None, 1, -100, one(d)))


add_embeddings()
add_selections()
add_writes()
add_losses()
