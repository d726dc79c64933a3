"""The sweep's expectations of each operator that is not native in every part, with a typed reason.

The file is operators.json: one object for each operator, sorted by name. An operator that is not in it must be correct
and native, forward and gradients, contiguous and not. An operator in the file must behave as listed: becoming native is a
failure just as breaking is, so that the file stays accurate. `sweep.py --update` rewrites it.
"""

import dataclasses
import enum
import json
import pathlib

PATH = pathlib.Path(__file__).with_name("operators.json")


class Reason(enum.Enum):
    """Why an operator is not native, or missing."""
    SPARSE = "a sparse layout has its own dispatch key"
    COMPLEX = "complex numbers are computed on the CPU"
    LINEAR_ALGEBRA = "decompositions and solvers use LAPACK on the CPU"
    FOURIER = "Fourier transforms run on the CPU"
    SPECIAL_FUNCTION = "a special function without a kernel"
    MISSING_KERNEL = "no kernel yet"


@dataclasses.dataclass(frozen=True)
class Expectation:
    """One operator that is not native in every part."""
    operator: str  # OpInfo's full name, such as "linalg.eig"
    reason: Reason
    not_native: frozenset[str]  # values of comparison.Part that fail under REKINDLE_STRICT=1
    not_correct: frozenset[str] = frozenset()  # those that fail with fallback allowed
    missing: str = ""  # the aten operator without a kernel, such as "aten::linalg_eig"


def read(path: pathlib.Path = PATH) -> dict[str, Expectation]:
    """Raises ValueError or KeyError if the file is not as described."""
    expectations = {}
    for entry in json.loads(path.read_text(encoding="utf-8")):
        expectation = Expectation(entry["operator"], Reason[entry["reason"]], frozenset(entry["not_native"]),
                                  frozenset(entry.get("not_correct", ())), entry.get("missing", ""))
        if expectation.operator in expectations:
            raise ValueError(f"{path}: {expectation.operator} appears twice")
        if not expectation.not_correct <= expectation.not_native:
            raise ValueError(f"{path}: {expectation.operator} is listed as wrong with fallback allowed, yet as native")
        expectations[expectation.operator] = expectation
    return expectations


def write(expectations: dict[str, Expectation], path: pathlib.Path = PATH) -> None:
    lines = []
    for name in sorted(expectations):
        expectation = expectations[name]
        entry = {"operator": name, "reason": expectation.reason.name, "not_native": sorted(expectation.not_native)}
        if expectation.not_correct:
            entry["not_correct"] = sorted(expectation.not_correct)
        if expectation.missing:
            entry["missing"] = expectation.missing
        lines.append(" " + json.dumps(entry))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def is_linear_algebra(operator: str) -> bool:
    prefixes = ("linalg", "cholesky", "lu_", "svd", "qr", "geqrf", "ormqr", "triangular_solve", "logdet", "pinverse",
                "inverse", "matrix_exp")
    return operator.startswith(prefixes)


def guess_reason(operator: str, missing: str, message: str) -> Reason:
    """The reason that --update writes for an operator that is new in the file."""
    if "sparse" in operator or "Sparse" in message:
        return Reason.SPARSE
    if operator.startswith("fft") or "stft" in operator or missing.startswith("aten::_fft"):
        return Reason.FOURIER
    if is_linear_algebra(operator) or missing.startswith(("aten::linalg", "aten::_linalg")):
        return Reason.LINEAR_ALGEBRA
    if operator in ("complex", "polar") or "complex" in message or "Complex" in message:
        return Reason.COMPLEX
    special = ("aten::special_", "aten::polygamma", "aten::i0", "aten::igamma", "aten::lgamma", "aten::mvlgamma")
    if operator.startswith("special.") or missing.startswith(special):
        return Reason.SPECIAL_FUNCTION
    return Reason.MISSING_KERNEL
