"""How fast the families of AMD GPUs execute vector instructions, in cycles of one SIMD.

Sources, each of which agrees with the data sheets' peak rates:
* lanes of a SIMD, wave64 as two passes, dual issue (v_dual_*) and its single pass over 64 lanes: AMD's instruction set
  guides for Vega and RDNA 1 to 4. RX 7900 XTX: 61.4 TFLOP/s in float32 = 256 operations a cycle and compute unit.
* matrix units: AMD, "How to accelerate AI applications on RDNA 3 using WMMA": 32 cycles for 16x16x16, which is the
  RX 7900 XTX's 122.8 TFLOP/s in float16 = 512 operations a cycle and compute unit. RDNA4: twice that (RX 9070 XT: 195).
* 32-bit integer products, transcendental functions, 64-bit shifts, float64: the cost table of Mesa's compiler (ACO).
* LDS: 32 banks of 4 bytes for each compute unit, the same guides.

Not known: whether an instruction's operands let the hardware of RDNA3 and RDNA4 execute 64 lanes in one pass (assumed), and
how often packed 16-bit products do so (assumed always, as the data sheets' float16 rates need).
"""
import dataclasses
import re

LDS_BYTES_PER_CYCLE = 128

# Units of a compute unit that can limit a loop.
ALU, TRANSCENDENTAL, LDS = "alu", "transcendental", "lds"


@dataclasses.dataclass(frozen=True)
class Rates:
    simd_lanes: int  # lanes that a SIMD executes at a time
    simds: int  # SIMDs that share the LDS of a compute unit
    doubled: bool  # two float32 operations at a time: v_dual_*, or 64 lanes in the time of 32
    overlaps_transcendental: bool  # transcendental functions run beside other vector instructions
    matrix_cycles: int  # of a product of 16x16x16 numbers of 16 bits on the matrix units; 0: it has none


GCN = Rates(simd_lanes=16, simds=4, doubled=False, overlaps_transcendental=False, matrix_cycles=0)
RDNA1 = Rates(simd_lanes=32, simds=2, doubled=False, overlaps_transcendental=True, matrix_cycles=0)
RDNA3 = dataclasses.replace(RDNA1, doubled=True, matrix_cycles=32)
RDNA4 = dataclasses.replace(RDNA3, matrix_cycles=16)

# By RADV's name of the family.
FAMILIES = {
    "polaris10": GCN,
    "vega10": GCN,
    "navi10": RDNA1,
    "navi14": RDNA1,
    "navi21": RDNA1,
    "navi31": RDNA3,
    "gfx1150": RDNA3,
    "gfx1201": RDNA4,
}

_ENCODING = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp|dpp8|e64_dpp8)$")
_MATRIX = re.compile(r"v_s?wmma")
_PRODUCT = re.compile(r"v_(pk_)?(fma|fmac|mac|mad)(_mix\w*|ak|mk)?_(f32|f16)|v_dot2")
_PACKED_PRODUCT = re.compile(r"v_pk_(fma|mul)_f16$")
_TRANSCENDENTAL = re.compile(r"v_(s_)?(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(f32|f16)")
_QUARTER = re.compile(r"v_mul_(lo|hi)_[ui]32|v_mad_(co_)?[ui]64_[ui]32")
_FLOAT64 = re.compile(r"v_\w+_f64")
_SHIFT64 = re.compile(r"v_(lshlrev|lshrrev|ashrrev|lshl|lshr|ashr)_[bi]64")
# What RDNA3 executes for 64 lanes in one pass: the operations of its dual issue.
_DOUBLED = re.compile(r"v_((fma|fmac|fmaak|fmamk|mul|add|sub|subrev|mul_legacy)_f32|(max|min)(_num)?_f32|mov_b32|cndmask_b32|pk_(fma|mul|add)_f16|dot2\w*)$")
_LDS_WIDTHS = {"b128": 16, "b96": 12, "b64": 8, "f64": 8, "u64": 8, "i64": 8}


@dataclasses.dataclass
class Cost:
    """Cycles of one SIMD for the instructions of one subgroup."""

    ideal: float = 0.0  # what the multiplications need at least
    alu: float = 0.0
    transcendental: float = 0.0
    lds: float = 0.0  # multiplied by the SIMDs that share the LDS

    def add(self, other, times=1):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + times * getattr(other, field.name))

    def limit(self):
        """(cycles, unit) of the unit that takes the longest."""
        return max((self.alu, ALU), (self.transcendental, TRANSCENDENTAL), (self.lds, LDS))

    def share(self):
        most = self.limit()[0]
        return self.ideal / most if most else 0.0


def operation_of(instruction):
    """The operation's name without the suffix of its encoding."""
    return _ENCODING.sub("", instruction.split()[0])


def is_matrix_product(operation):
    return _MATRIX.match(operation) is not None


def is_packed_product(operation):
    """Whether it computes two float16 products, and adds them to a sum unless they are its first."""
    return _PACKED_PRODUCT.match(operation) is not None


def _lds_bytes(operation):
    """Bytes of one lane. Narrow elements occupy a bank of four bytes."""
    width = next((bytes for name, bytes in _LDS_WIDTHS.items() if operation.endswith(name)), 4)
    return width * (2 if re.search("2addr|read2|write2|2st64", operation) else 1)


def cost_of(instruction, lanes, rates):
    """instruction: a line of the disassembly. lanes: the subgroup's size."""
    operation = operation_of(instruction)
    passes = lanes / rates.simd_lanes
    if operation.startswith("ds_"):
        return Cost(lds=lanes * _lds_bytes(operation) / LDS_BYTES_PER_CYCLE * rates.simds)
    if not operation.startswith("v_"):
        return Cost()
    if _MATRIX.match(operation):
        return Cost(ideal=rates.matrix_cycles, alu=rates.matrix_cycles)
    if operation.startswith("v_dual_"):
        return Cost(ideal=len(re.findall(r"v_dual_(?:fm|dot2)", instruction)) / 2, alu=passes)
    if _TRANSCENDENTAL.match(operation):
        return Cost(alu=passes if rates.overlaps_transcendental else 4 * passes, transcendental=4 * passes)
    if _QUARTER.match(operation):
        return Cost(alu=4 * passes)
    if _FLOAT64.match(operation):
        return Cost(alu=16 * passes)
    if _SHIFT64.match(operation):
        return Cost(alu=2 * passes)
    at_once = rates.doubled and lanes == 64 and _DOUBLED.match(operation)
    cost = Cost(alu=passes / 2 if at_once else passes)
    if _PRODUCT.match(operation):
        cost.ideal = passes / 2 if rates.doubled else passes
    return cost
