"""Products of matrices and vectors compared with the CPU: sizes, strides, dtypes, alpha, beta, long sums, empty
tensors."""

import unittest

import torch
from torch import randn

from both_devices import ScaledOnBoth, moved
from support import DEVICE

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def four_layouts(m, k, n):
    yield "plain", randn(m, k), randn(k, n)
    yield "A transposed", randn(k, m).t(), randn(k, n)
    yield "B transposed", randn(m, k), randn(n, k).t()
    yield "both transposed", randn(k, m).t(), randn(n, k).t()


class Products(ScaledOnBoth):
    def test_sizes_and_transposed_factors(self):
        for m, k, n in ((1, 1, 1), (5, 7, 9), (32, 32, 32), (33, 70, 65), (64, 128, 96), (128, 64, 128)):
            for layout, a, b in four_layouts(m, k, n):
                self.compare(torch.mm, a, b, message=f"{m} x {k} x {n}, {layout}")

    def test_tiles_of_large_products(self):
        for m, k, n in ((520, 70, 530), (1500, 20, 1300), (1536, 32, 1280)):
            for layout, a, b in four_layouts(m, k, n):
                self.compare(torch.mm, a, b, message=f"{m} x {k} x {n}, {layout}")

    def test_strides(self):
        self.compare(torch.mm, randn(40, 90)[3:, 5:70:2], randn(33, 80)[:, 1::2])
        self.compare(torch.mm, randn(1, 30).expand(20, 30), randn(30, 1).expand(30, 25))
        self.compare(torch.bmm, randn(1, 5, 7).expand(3, 5, 7), randn(3, 9, 7).mT)
        self.compare(torch.bmm, randn(5, 3, 8).transpose(0, 1), randn(8, 3, 4).transpose(0, 1))

    def test_sums_in_parts(self):
        self.compare(torch.mm, randn(3, 5000), randn(5000, 4))
        self.compare(torch.mm, randn(40, 3000), randn(50, 3000).t())
        self.compare(torch.bmm, randn(2, 5, 2000), randn(2, 2000, 6))
        self.compare(lambda d, a, b: torch.addmm(d, a, b, beta=2, alpha=0.5), randn(6), randn(5, 2000), randn(2000, 6))

    def test_a_long_sum_is_the_same_every_time(self):
        a, b = moved(randn(3, 50000), whole_storage=True), moved(randn(50000, 4), whole_storage=True)
        first = torch.mm(a, b).cpu()
        for _ in range(3):
            self.assertTrue(torch.equal(first, torch.mm(a, b).cpu()))

    def test_alpha_beta_and_broadcasting(self):
        x, w = randn(32, 64), randn(12, 64)
        for added in (randn(12), randn(1, 12), randn(32, 1), randn(1), randn(32, 12), randn(12, 32).t()):
            self.compare(lambda d, x, w: torch.addmm(d, x, w.t(), beta=0.5, alpha=2), added, x, w)
        self.compare(torch.baddbmm, randn(3, 1, 9), randn(3, 5, 7), randn(3, 7, 9))
        self.compare(torch.baddbmm, randn(9), randn(3, 5, 7), randn(3, 7, 9))
        self.compare(torch.addbmm, randn(5, 9), randn(3, 5, 7), randn(3, 7, 9))

    def test_beta_zero_reads_nothing(self):
        self.compare(lambda d, a, b: torch.addmm(d, a, b, beta=0), torch.full((3, 4), float("nan")), randn(3, 6),
                     randn(6, 4))

    def test_empty(self):
        for m, k, n in ((4, 0, 5), (0, 3, 5), (3, 4, 0), (1, 0, 7), (7, 0, 1)):
            self.compare(torch.mm, randn(m, k), randn(k, n), message=f"{m} x {k} x {n}")
        self.compare(lambda d, a, b: torch.addmm(d, a, b, beta=3), randn(3, 4), randn(3, 0), randn(0, 4))
        self.compare(torch.bmm, randn(0, 3, 4), randn(0, 4, 5))
        self.compare(torch.dot, randn(0), randn(0))

    def test_in_place_and_out(self):
        d, a, b = randn(5, 6), randn(5, 7), randn(7, 6)
        self.compare(lambda d, a, b: d.clone().addmm_(a, b, beta=2), d, a, b)
        self.compare(lambda a, b: torch.mm(a, b, out=torch.empty(6, 5, device=a.device).t()), a, b)
        self.compare(lambda a, b: torch.mm(a, b, out=torch.empty(5, 12, device=a.device)[:, ::2]), a, b)

    def test_vectors(self):
        self.compare(torch.mv, randn(100, 300), randn(300))
        self.compare(torch.mv, randn(300, 100).t(), randn(300))
        self.compare(torch.mv, randn(2, 50000), randn(50000), tolerance=1e-4)
        self.compare(torch.mv, randn(50000, 3).t(), randn(50000), tolerance=1e-4)
        self.compare(torch.mv, randn(70000, 3), randn(3))
        self.compare(lambda d, a, x: torch.addmv(d, a, x, beta=3, alpha=0.5), randn(7), randn(7, 9), randn(9))
        self.compare(lambda d, a, x: torch.addmv(d, a, x), randn(1), randn(7, 9), randn(9))
        self.compare(torch.dot, randn(1000)[::2], randn(500))
        self.compare(torch.vdot, randn(10), randn(10))
        self.compare(torch.dot, torch.rand(1000000), torch.rand(1000000))

    def test_every_float16_by_a_vector(self):
        """Multiplies each of the 65,536 float16 values, including subnormals, infinities, and NaN, by 1, with every way in which
        the kernels load a matrix."""
        every = torch.arange(-32768, 32768).to(torch.int16).view(torch.float16)
        matrix, vector = torch.zeros(len(every), 64, dtype=torch.float16), torch.zeros(64, dtype=torch.float16)
        matrix[:, 5], vector[5] = every, 1
        for columns in (64, 63):
            rows = matrix[:, :columns].to(DEVICE)
            for factor in (rows.contiguous(), rows, rows.t().contiguous().t()):
                found = (factor @ vector[:columns].to(DEVICE)).cpu()
                self.assertTrue(torch.equal(found.isnan(), every.isnan()))
                self.assertTrue(torch.equal(found[~every.isnan()], every[~every.isnan()]))

    def test_vectors_of_every_dtype(self):
        """Sizes and addresses that allow loads of four numbers, and some that do not; 9,000 k are summed in parts."""
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, *INTEGERS):
            def numbers(*sizes):
                return randn(*sizes).to(dtype) if dtype.is_floating_point else torch.randint(0, 5, sizes).to(dtype)
            for m, k in ((128, 256), (132, 260), (131, 259), (4, 9000), (9000, 4), (1, 64)):
                a, columns, x = numbers(m, k), numbers(k, m).t(), numbers(k)
                message = f"{m} x {k} {dtype}"
                self.compare(torch.mv, a, x, message=message)
                self.compare(torch.mv, columns, x, message=f"{message}, columns in memory")
                self.compare(torch.mm, x[None], a.t(), message=f"{message}, one row")
            self.compare(lambda a, x: torch.mv(a[:, 1:], x[1:]), numbers(64, 261), numbers(261), message=f"not aligned {dtype}")
            self.compare(lambda a, x: torch.mv(a[1:].t(), x[1:]), numbers(261, 66), numbers(261), message=f"not aligned {dtype}")
            self.compare(lambda a, x: a.matmul(x[..., None]), numbers(3, 64, 128), numbers(3, 128), message=f"batch {dtype}")
            self.compare(lambda d, a, x: torch.addmv(d, a.t(), x, beta=2, alpha=3), numbers(64), numbers(100, 64), numbers(100),
                         message=f"added {dtype}")

    def test_a_nan_stays_in_its_row(self):
        a, b = torch.ones(40, 40), torch.ones(40, 40)
        a[3, 5] = float("nan")
        found = torch.mm(moved(a, whole_storage=True), moved(b, whole_storage=True)).cpu().isnan()
        expected = torch.zeros(40, 40, dtype=torch.bool)
        expected[3] = True
        self.assertTrue(torch.equal(expected, found))

    def test_dtypes(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            for a, b in ((randn(33, 64), randn(64, 44)), (randn(33, 65), randn(65, 43)), (randn(3, 3000), randn(3000, 4))):
                self.compare(torch.mm, a.to(dtype), b.to(dtype), message=f"{dtype} {a.shape}")
            self.compare(torch.mv, randn(30, 300).to(dtype), randn(300).to(dtype), message=str(dtype))
            self.compare(lambda d, a, b: torch.addmm(d, a, b, beta=0.5, alpha=2), randn(44).to(dtype),
                         randn(33, 64).to(dtype), randn(64, 44).to(dtype), message=str(dtype))

    @staticmethod
    def sixteen_bits():
        for dtype in (torch.float16, torch.bfloat16):
            def plain(rows, columns):
                return randn(rows, columns).to(dtype)

            def transposed(rows, columns):
                return randn(columns, rows).to(dtype).t()
            yield plain, transposed

    def test_sixteen_bits_in_every_layout(self):
        """Whole tiles, edges, and strides; devices with matrix units use them."""
        for plain, transposed in self.sixteen_bits():
            for m, n, k in ((16, 16, 16), (17, 19, 23), (64, 64, 64), (65, 63, 31), (200, 136, 72), (33, 129, 2000)):
                for first in (plain, transposed):
                    for second in (plain, transposed):
                        message = f"{m} x {n} x {k}, {first.__name__}, {second.__name__}"
                        self.compare(torch.mm, first(m, k), second(k, n), message=message)
            self.compare(torch.mm, plain(80, 160)[:, ::2], plain(160, 90)[::2, ::3], message="every other")
            self.compare(torch.mm, plain(81, 65)[1:, 1:], plain(65, 90)[1:, 2:], message="not aligned")
            self.compare(lambda a, b: torch.bmm(a.transpose(1, 2), b), plain(250, 40).view(5, 50, 40),
                         plain(250, 60).view(5, 50, 60), message="batch")
            self.compare(lambda a, b: torch.bmm(a.expand(6, 40, 48), b), plain(40, 48)[None],
                         plain(288, 56).view(6, 48, 56), message="one matrix for the batch")
            self.compare(lambda d, a, b: torch.baddbmm(d, a, b, alpha=2, beta=-1), plain(132, 47).view(4, 33, 47),
                         plain(132, 65).view(4, 33, 65), plain(260, 47).view(4, 65, 47), message="baddbmm")
            self.compare(torch.mm, plain(20, 20_000) / 8, plain(20_000, 24) / 8, message="parts of k")

    def test_few_rows_or_columns_of_sixteen_bits(self):
        for plain, transposed in self.sixteen_bits():
            self.compare(torch.mm, plain(3, 64), transposed(64, 72), message="3 rows, a single slice of k")
            self.compare(torch.mm, transposed(3, 130), plain(130, 101), message="3 rows, not aligned")
            self.compare(torch.mm, plain(72, 200), plain(200, 12), message="12 columns")

    def test_many_tiles_of_sixteen_bits(self):
        """Enough tiles for the largest tile size on matrix units, whole and with edges."""
        for plain, transposed in self.sixteen_bits():
            self.compare(torch.bmm, plain(96_000, 64).view(750, 128, 64), plain(48_000, 384).view(750, 64, 384), message="whole")
            self.compare(torch.mm, transposed(4000, 20), plain(20, 9200), message="edges")

    def test_integers(self):
        for dtype in INTEGERS:
            def numbers(*sizes):
                return torch.randint(0, 50, sizes).to(dtype)
            self.compare(torch.mm, numbers(33, 64), numbers(64, 44), message=str(dtype))
            self.compare(lambda d, a, b: torch.addmm(d, a, b, beta=2, alpha=3), numbers(10), numbers(5, 700),
                         numbers(700, 10), message=str(dtype))
            self.compare(torch.mv, numbers(5, 100), numbers(100), message=str(dtype))

    def test_gradients(self):
        self.compare_gradients(torch.mm, randn(13, 21), randn(21, 17))
        self.compare_gradients(torch.baddbmm, randn(3, 5, 9), randn(3, 5, 7), randn(3, 7, 9))
        self.compare_gradients(torch.nn.functional.linear, randn(2, 5, 8), randn(6, 8), randn(6))
        self.compare_gradients(torch.matmul, randn(2, 3, 5, 7), randn(3, 7, 4))
        self.compare_gradients(lambda a, b: torch.einsum("bij,bkj->bik", a, b), randn(2, 3, 5), randn(2, 4, 5))

    def test_gradcheck(self):
        def double(*sizes):
            return randn(sizes, dtype=torch.float64).to(DEVICE).requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(torch.addmm, (double(3, 5), double(3, 4), double(4, 5))))
        self.assertTrue(torch.autograd.gradcheck(torch.mv, (double(3, 4), double(4))))


if __name__ == "__main__":
    unittest.main()
