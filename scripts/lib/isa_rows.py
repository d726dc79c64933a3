"""Reads and writes the audit's table, docs/reference/isa.tsv, and finds the rows whose code has not changed."""
import csv
import dataclasses

FIRST_COLUMNS = ("file", "kernel", "case", "digest", "lds_bytes", "code_bytes")
SHARE_COLUMNS = ("lanes", "share", "around", "limit")
NUMBERS = ("vgprs", "sgprs", "subgroups_per_simd", "latency_cycles")


@dataclasses.dataclass(frozen=True)
class Registration:
    """A kernel with one set of constants. digest: of the code that drivers receive."""

    file: str
    digest: str
    shared_bytes: int
    needs: frozenset


def read_kernels(file):
    """Reads the output of `rekindle_kernel_tool list`: {(kernel, case): Registration}, in its order."""
    registered = {}
    for line in file.read_text().splitlines():
        name, kernel, case, digest, shared, needs = line.split("\t")
        registered[kernel, case] = Registration(name, digest, int(shared), frozenset(needs.split(", ")))
    return registered


def read_lines(file):
    """Returns the lines of a tab-separated table as dictionaries."""
    with open(file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def heading(family, version):
    return f"{family} {version}"


def _cell(row):
    if not row:
        return "-"
    numbers = [str(row[column]) for column in NUMBERS]
    if row["spilled_sgprs"]:
        numbers[1] += f"+{row['spilled_sgprs']}"
    return " ".join(numbers + [str(row[column]) for column in SHARE_COLUMNS if row[column] is not None])


def _row_of(cell, lds, code):
    """The inverse of _cell, except for the shares, which every audit computes again. Rows with a digest spill no vector registers
    and use no scratch memory."""
    vgprs, scalars, subgroups, latency, *_ = cell.split(" ")
    sgprs, _, in_lanes = scalars.partition("+")
    row = dict(zip(NUMBERS, map(int, (vgprs, sgprs, subgroups, latency))))
    return row | {"lds_bytes": lds, "code_bytes": code, "spilled_vgprs": 0, "spilled_sgprs": int(in_lanes or 0), "scratch_bytes": 0}


def write_rows(file, registered, families, audited, without_digest):
    """families: {family: version of Mesa}; audited: {family: {(kernel, case): row}}; without_digest: the keys of rows that the next
    audit must not keep."""
    lines = ["\t".join([*FIRST_COLUMNS, *(heading(*each) for each in families.items())])]
    for key, registration in registered.items():
        found = [audited[family].get(key) for family in families]
        most = [str(max((row[column] for row in found if row), default=0)) for column in ("lds_bytes", "code_bytes")]
        digest = "-" if key in without_digest else registration.digest
        lines.append("\t".join([registration.file, *key, digest, *most, *map(_cell, found)]))
    file.write_text("\n".join(lines) + "\n")


def _read_published(file):
    return read_lines(file) if file.exists() else []


def kept_rows(file, family, version, registered):
    """Returns the table's rows of this family, {(kernel, case): row}, for which neither the code nor the version of Mesa has
    changed."""
    kept = {}
    for line in _read_published(file):
        key = line["kernel"], line["case"]
        cell = line.get(heading(family, version))
        if cell not in (None, "-") and key in registered and line["digest"] == registered[key].digest:
            kept[key] = _row_of(cell, int(line["lds_bytes"]), int(line["code_bytes"]))
    return kept


def changed(file, families, registered):
    """Returns (kernel, case) of each pipeline that is new or whose code has changed since the table was written. If the version of
    Mesa has changed for any family, returns all."""
    published = _read_published(file)
    columns = {heading(*each) for each in families.items()}
    if not published or not columns <= published[0].keys():
        return list(registered)
    digests = {(line["kernel"], line["case"]): line.get("digest") for line in published}
    return [key for key, registration in registered.items() if digests.get(key) != registration.digest]
