#!/usr/bin/env python3
"""Loops counted by hand for each family of rates of scripts/lib/isa_rates.py, and how isa_model.py reads machine code."""
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"))
from isa_model import blocks_of, loops_of, rows_of, runs_of, shares_of
from isa_rates import FAMILIES, GCN, RDNA1, RDNA3, RDNA4, cost_of


def disassembled(*blocks):
    """Lines of a disassembly: blocks BB0, BB1 … of instructions, with the encoding that the compiler prints behind each."""
    return [line for i, block in enumerate(blocks) for line in (f"BB{i}:", *(f"\t{text:60}; 7e000280" for text in block))]


def loop(*instructions):
    return disassembled(["s_mov_b32 s9, 0"], [*instructions, "s_cbranch_scc0 BB1"], ["s_endpgm"])


class HandCountedLoops(unittest.TestCase):
    def check(self, rates, lanes, instructions, share, limit):
        got = shares_of(loop(*instructions), lanes, rates)
        self.assertEqual((got[0], got[2]), (share, limit))

    def test_gcn(self):
        # 64 lanes on 16: 4 cycles each, 16 for the integer product and the reciprocal: 8 * 4 / (8 * 4 + 4 + 16 + 16).
        body = ["v_mac_f32_e32 v1, v2, v3"] * 8 + ["v_add_u32_e32 v4, v4, v5", "v_mul_lo_u32 v6, v6, s4", "v_rcp_f32_e32 v7, v7"]
        self.check(GCN, 64, body, "0.47", "alu")
        # Four SIMDs share 128 bytes a cycle: 64 * 16 / 128 * 4 = 32 cycles a load, two of them against 8 * 4.
        self.check(GCN, 64, ["v_mac_f32_e32 v1, v2, v3"] * 8 + ["ds_read_b128 v[0:3], v9"] * 2, "0.50", "lds")

    def test_rdna1_and_2(self):
        for name in ("navi10", "navi14", "navi21"):
            self.assertIs(FAMILIES[name], RDNA1)
        # 32 lanes: 1 cycle each, 4 for the integer product, 2 for the 64-bit shift; the reciprocal runs beside them.
        body = ["v_fmac_f32_e32 v1, v2, v3"] * 8 + ["v_mul_hi_u32 v6, v6, s4", "v_lshlrev_b64 v[2:3], 2, v[2:3]", "v_rcp_f32_e32 v7, v7"]
        self.check(RDNA1, 32, body, "0.53", "alu")
        self.check(RDNA1, 64, body, "0.53", "alu")
        # Four transcendental functions keep their unit busy for 16 cycles; 4 + 4 vector instructions need 8.
        self.check(RDNA1, 32, ["v_fma_f32 v1, v2, v3, v4"] * 4 + ["v_exp_f32_e32 v7, v7"] * 4, "0.25", "transcendental")
        # 32 lanes: 32 * 2 * 8 / 128 * 2 SIMDs = 8 cycles for two times 64 bits, 2 for 16 bits, which occupy a bank.
        body = ["v_fma_f32 v1, v2, v3, v4"] * 5 + ["ds_read2_b64 v[0:3], v9 offset1:1", "ds_read_u16_d16 v4, v9"]
        self.check(RDNA1, 32, body, "0.50", "lds")

    def test_packed_products(self):
        # Their rate is the doubled one; v_fma_mix_f32 adds their sums to float32: 4 / (4 + 2 + 2).
        body = ["v_pk_mul_f16 v1, v2, v3"] + ["v_pk_fma_f16 v1, v2, v3, v1"] * 3 + ["v_fma_mix_f32 v4, v1, 1.0, v4"] * 2 + ["v_add_nc_u32_e32 v4, v4, v5"] * 2
        self.check(RDNA1, 64, body, "0.50", "alu")
        # Without packed products, v_fma_mix_f32 multiplies.
        self.check(RDNA1, 64, ["v_fma_mix_f32 v4, v1, v2, v4"] * 3 + ["v_pk_mul_f16 v1, v2, v3"], "0.75", "alu")

        # In a loop with matrix products, packed and other multiplications do not count: 32 / (32 + 4 + 4).
        body = ["v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"] + ["v_pk_fma_f16 v1, v2, v3, v1", "v_fma_f32 v4, v5, v6, v4"] * 4
        self.check(RDNA3, 32, body, "0.80", "alu")

    def test_rdna3_vector_alu(self):
        # 64 lanes: float32 in one cycle, integers in two, their products in eight: 8 / (8 + 2 + 8).
        body = ["v_fmac_f32_e32 v1, v2, v3"] * 8 + ["v_add_nc_u32_e32 v4, v4, v5", "v_mul_lo_u32 v6, v6, s4"]
        self.check(RDNA3, 64, body, "0.44", "alu")
        # 32 lanes: a pair takes one cycle and so does a single product, which is half of what the cycle could do.
        pair = "v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6"
        self.check(RDNA3, 32, [pair] * 6, "1.00", "alu")
        self.check(RDNA3, 32, [pair] * 6 + ["v_fmac_f32_e32 v1, v2, v3"] * 2, "0.88", "alu")
        self.check(RDNA3, 32, ["v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5"] * 6, "0.50", "alu")

    def test_rdna3_matrix_units(self):
        # 4 * 32 cycles, 12 other instructions: one cycle for 32 lanes, two for 64.
        body = ["v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"] * 4 + ["v_add_nc_u32_e32 v4, v4, v5"] * 12
        self.check(RDNA3, 32, body, "0.91", "alu")
        self.check(RDNA3, 64, body, "0.84", "alu")
        # 24 loads of 128 bits for 32 lanes: 32 * 16 / 128 * 2 SIMDs = 8 cycles each.
        self.check(RDNA3, 32, body[:4] + ["ds_load_b128 v[0:3], v9"] * 24, "0.67", "lds")

    def test_rdna4(self):
        body = ["v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"] * 4 + ["v_add_nc_u32_e32 v4, v4, v5"] * 16
        self.check(RDNA4, 32, body, "0.80", "alu")
        self.assertEqual(cost_of("v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", 32, RDNA4).alu, 16)
        self.check(RDNA4, 64, ["v_fmac_f32_e32 v1, v2, v3"] * 4 + ["v_max_num_f32_e32 v1, v2, v3"] * 4, "0.50", "alu")


class Loops(unittest.TestCase):
    NESTED = disassembled(
        ["s_mov_b32 s4, 0"],
        ["v_mul_lo_u32 v1, v2, v3", "s_mov_b32 s5, 2"],
        ["v_fmac_f32_e32 v1, v2, v3", "s_add_u32 s5, s5, 3", "s_cmp_ge_u32 s5, 13", "s_cbranch_scc0 BB2"],
        ["s_add_u32 s4, s4, 16", "s_cmp_ge_u32 s4, s7", "s_cbranch_scc0 BB1"],
        ["v_mul_lo_u32 v1, v2, v3", "s_endpgm"],
    )

    def test_runs_between_constants_are_counted(self):
        blocks = blocks_of(self.NESTED)
        (outer,) = loops_of(blocks)
        (inner,) = outer.inner
        self.assertEqual((inner.first, inner.last, outer.first, outer.last), (2, 2, 1, 3))
        self.assertEqual(runs_of(blocks, inner), 4)  # 2, 5, 8, 11
        self.assertEqual(runs_of(blocks, outer), 1)  # the end is in a register

    def test_share_of_the_inner_loop_and_around_it(self):
        share, around, limit, operations = shares_of(self.NESTED, 32, RDNA1)
        self.assertEqual((share, around, limit), ("1.00", "0.50", "alu"))  # around: 4 / (4 + 4)
        self.assertEqual(operations, "1 v_fmac_f32")

    def test_the_loop_with_the_most_products_counts(self):
        code = disassembled(
            ["v_fma_f32 v1, v2, v3, v4"] * 9,
            ["v_fma_f32 v1, v2, v3, v4", "s_cbranch_scc0 BB1"],
            ["v_fma_f32 v1, v2, v3, v4"] * 2 + ["v_mov_b32_e32 v1, v2"] * 2 + ["s_branch BB2"],
        )
        self.assertEqual(shares_of(code, 32, RDNA1)[:2], ("0.50", "0.50"))

    def test_a_loop_whose_end_lies_between_the_parts_of_its_body(self):
        blocks = blocks_of(disassembled(
            ["s_mov_b32 s9, 0"],
            ["v_fma_f32 v1, v2, v3, v4"],
            ["v_mov_b32_e32 v1, v2", "s_cbranch_scc1 BB1", "s_cbranch_scc0 BB5"],  # repeats the outer loop; the middle one starts here
            ["v_fma_f32 v1, v2, v3, v4", "s_cbranch_scc0 BB3"],
            ["v_fma_f32 v1, v2, v3, v4", "s_branch BB2"],
            ["s_endpgm"],
        ))  # fmt: skip
        (outer,) = loops_of(blocks)
        (middle,) = outer.inner
        (inner,) = middle.inner
        self.assertEqual([(loop.first, loop.last) for loop in (outer, middle, inner)], [(1, 4), (2, 4), (3, 3)])

    def test_without_a_loop_of_products(self):
        self.assertEqual(shares_of(loop("v_add_f32_e32 v1, v2, v3"), 64, GCN), ("-",) * 4)


class Stream(unittest.TestCase):
    def test_pipelines_are_told_apart(self):
        stream = ["a warning\n", "Compute Shader\n", "disasm:\n"]
        stream += [line + "\n" for line in loop("v_fma_f32 v1, v2, v3, v4")] + ["\n", "compiled\tfirst\ta, b\t32\n"]
        stream += ["disasm:\n", *(line + "\n" for line in loop("v_add_f32_e32 v1, v2, v3")), "compiled\tsecond\tc\t64\n", "2 pipelines\n"]
        other = io.StringIO()
        rows = list(rows_of(stream, "navi10", other))
        self.assertEqual([row[:4] for row in rows], [("first", "a, b", "32", "1.00"), ("second", "c", "64", "-")])
        self.assertEqual(other.getvalue(), "a warning\n2 pipelines\n")

    def test_unknown_instructions_are_part_of_the_loop(self):
        lines = loop("v_fma_f32 v1, v2, v3, v4", "v_fma_f32 v1, v2, v3, v4")
        lines[3:3] = ["(invalid instruction)                                        ; d59c08be"] * 2
        stream = [line + "\n" for line in ["disasm:", *lines, "compiled\tkernel\ta\t32"]]
        self.assertEqual([row[3] for row in rows_of(stream, "navi10", io.StringIO())], ["0.50"])

    def test_missing_machine_code_is_an_error(self):
        stream = ["disasm:\n", "Shader disassembly is not supported\n", "BB0\n", "compiled\tkernel\ta\t32\n"]
        with self.assertRaisesRegex(SystemExit, r"kernel \(a\)"):
            list(rows_of(stream, "gfx1201", io.StringIO()))


if __name__ == "__main__":
    unittest.main()
