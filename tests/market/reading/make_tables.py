#!/usr/bin/env python3
"""Writes the files in tests/market/data/tables: the same bars in many forms of Parquet, and as CSV.

Needs pyarrow (the files were made with 26.0.1):  python3 make_tables.py ../data/tables
"""

import decimal
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 200
DEFAULTS = {"row_group_size": 80, "write_statistics": False, "store_schema": False}
START = np.datetime64("2024-03-15T13:31:00", "s")


def bars():
    """Bars of one minute with a tick of 0.25, in integers of a quarter."""
    random = np.random.default_rng(14)
    close = 18_000 + np.cumsum(random.integers(-6, 7, ROWS))
    open_ = np.roll(close, 1)
    open_[0] = close[0]
    return {
        "open": open_,
        "high": np.maximum(open_, close) + random.integers(0, 5, ROWS),
        "low": np.minimum(open_, close) - random.integers(0, 5, ROWS),
        "close": close,
        "volume": random.integers(0, 5000, ROWS),
    }


def times(unit):
    return START.astype(f"datetime64[{unit}]") + np.arange(ROWS) * np.timedelta64(60, "s")


def table(time, prices=lambda quarters: pa.array(quarters / 4.0), volume=pa.array):
    columns = bars()
    names = {"timestamp": time}
    names |= {name: prices(columns[name]) for name in ("open", "high", "low", "close")}
    return pa.table(names | {"volume": volume(columns["volume"])})


def decimals(kind):
    return lambda quarters: pa.array([decimal.Decimal(int(q)) / 4 for q in quarters], kind)


def utc(unit):
    return pa.array(times(unit)).cast(pa.timestamp(unit, "UTC"))


def write_csv(path, time="timestamp", zone="Z"):
    columns = bars()
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{time},open,high,low,close,volume\n")
        for i, stamp in enumerate(times("s")):
            prices = ",".join(f"{columns[name][i] / 4}" for name in ("open", "high", "low", "close"))
            file.write(f"{stamp}{zone},{prices},{columns['volume'][i]}\n")


def write_all(folder):
    def write(name, content, **options):
        pq.write_table(content, folder / f"{name}.parquet", **(DEFAULTS | options))

    plain = table(utc("us"))
    for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        write(f"codec-{codec}", plain, compression=codec)
    write("pages-v1-crc", plain, data_page_version="1.0", data_page_size=512, write_batch_size=64,
          write_page_checksum=True)
    write("pages-v2", plain, data_page_version="2.0", data_page_size=512, write_batch_size=64, use_dictionary=False)
    write("seconds-as-ms", table(utc("s")))
    write("milliseconds", table(utc("ms")))
    write("nanoseconds", table(utc("ns")))
    write("without-zone", table(pa.array(times("us"))))
    write("int96", table(pa.array(times("ns"))), use_deprecated_int96_timestamps=True)
    write("unix-seconds", table(pa.array(times("s").astype(np.int64))))
    write("floats", table(utc("us"), lambda quarters: pa.array((quarters / 4.0).astype(np.float32))))
    write("decimal-32", table(utc("us"), decimals(pa.decimal128(8, 2))), store_decimal_as_integer=True)
    write("decimal-64", table(utc("us"), decimals(pa.decimal128(16, 4))), store_decimal_as_integer=True)
    write("decimal-128", table(utc("us"), decimals(pa.decimal128(30, 9))))
    write("volume-uint32", table(utc("us"), volume=lambda v: pa.array(v.astype(np.uint32))))
    write("volume-double", table(utc("us"), volume=lambda v: pa.array(v.astype(np.float64))))
    encodings = {name: "BYTE_STREAM_SPLIT" for name in ("open", "high", "low", "close")}
    encodings |= {"timestamp": "DELTA_BINARY_PACKED", "volume": "DELTA_BINARY_PACKED"}
    write("split-and-delta", plain, use_dictionary=False, column_encoding=encodings)
    required = pa.schema([pa.field(f.name, f.type, nullable=False) for f in plain.schema])
    write("required", plain.cast(required))
    names = pa.array(["ES 03-24" if i < ROWS // 2 else "ES 06-24" for i in range(ROWS)])
    lists = pa.array([[i, i + 1] for i in range(ROWS)])
    wide = plain.append_column("contract", names).add_column(0, "levels", lists)
    write("contracts", wide)
    for encoding in ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
        write(f"contracts-{encoding.lower().replace('_', '-')}", wide, use_dictionary=False,
              column_encoding={"contract": encoding})
    missing = plain.to_pydict()
    missing["volume"] = [None if i % 7 == 3 else v for i, v in enumerate(missing["volume"])]
    write("missing-volumes", pa.table(missing, plain.schema))
    write_csv(folder / "bars.csv")
    write_csv(folder / "bars-without-zone.csv", zone="")


if __name__ == "__main__":
    write_all(pathlib.Path(sys.argv[1]))
