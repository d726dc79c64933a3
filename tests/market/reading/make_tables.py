#!/usr/bin/env python3
"""Writes the files in tests/market/data/tables: the same bars in many forms of Parquet, DBN and SCID, and as CSV.

Needs pyarrow, databento-dbn and zstandard (made with 26.0.1, 0.72.0, 0.25.0):  python3 make_tables.py ../data/tables
"""

import datetime
import decimal
import pathlib
import struct
import sys
import types
import zipfile

import databento_dbn as dbn
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

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
    write("bytes-as-prices", table(utc("us"), lambda quarters: pa.array(
        [struct.pack("<q", int(q) * 250_000_000) for q in quarters], pa.binary(8))))
    write_csv(folder / "bars.csv")
    write_csv(folder / "bars-without-zone.csv", zone="")


SWITCH = ROWS // 2  # from this bar on, the contract is the next one


def dbn_bytes(version, schema=dbn.Schema.OHLCV_1M, rtype=0x21):
    """Databento's own encoder: two contracts, one after the other, and a message that is no bar."""
    def mapping(symbol, instrument):
        interval = types.SimpleNamespace(start_date=datetime.date(2024, 3, 1), end_date=datetime.date(2024, 4, 1),
                                         symbol=instrument)
        return types.SimpleNamespace(raw_symbol=symbol, intervals=[interval])

    start = int(START.astype("datetime64[ns]").astype(np.int64))
    metadata = dbn.Metadata(dataset="GLBX.MDP3", start=start, stype_in=dbn.SType.RAW_SYMBOL,
                            stype_out=dbn.SType.INSTRUMENT_ID, schema=schema, symbols=["ESH4", "ESM4"],
                            mappings=[mapping("ESH4", "17"), mapping("ESM4", "18")], version=version)
    columns = bars()
    records = []
    for i, stamp in enumerate(times("ns").astype(np.int64)):
        prices = [int(columns[name][i]) * 250_000_000 for name in ("open", "high", "low", "close")]
        records.append(bytes(dbn.OHLCVMsg(rtype, 1, 17 if i < SWITCH else 18, int(stamp), *prices,
                                          int(columns["volume"][i]))))
    return bytes(metadata) + b"".join(records)


def scid_header():
    return struct.pack("<4sIIHHI36x", b"SCID", 56, 40, 1, 0, 0)


def scid_time(stamp):
    return int((stamp - np.datetime64("1899-12-30", "us")).astype(np.int64))


def scid_bars():
    columns = bars()
    records = [struct.pack("<q4f4I", scid_time(stamp), *(columns[n][i] / 4 for n in ("open", "high", "low", "close")),
                           7, columns["volume"][i], columns["volume"][i] // 3,
                           columns["volume"][i] - columns["volume"][i] // 3)
               for i, stamp in enumerate(times("us"))]
    return scid_header() + b"".join(records)


def scid_trades():
    """Every bar as four trades: open, high, low, close; the volume is in the last. Each trade has bid and ask."""
    columns = bars()
    records = []
    for i, stamp in enumerate(times("us")):
        for k, name in enumerate(("open", "high", "low", "close")):
            price, volume = columns[name][i] / 4, columns["volume"][i] if k == 3 else 0
            opening = (0.0, -1.99900095e+37, 0.0, -1.99900197e+37)[k]
            records.append(struct.pack("<q4f4I", scid_time(stamp + np.timedelta64(13 * k + 1, "s")), opening,
                                       price + 0.25, price - 0.25, price, 1, volume, volume, 0))
    return scid_header() + b"".join(records)


def write_other_formats(folder):
    for version in (1, 2, 3):
        (folder / f"v{version}.dbn").write_bytes(dbn_bytes(version))
    (folder / "v3.dbn.zst").write_bytes(zstandard.compress(dbn_bytes(3)))
    (folder / "trades.dbn").write_bytes(dbn_bytes(3, dbn.Schema.TRADES, rtype=0x00)[: -56 * (ROWS - 3)])
    (folder / "bars.scid").write_bytes(scid_bars())
    (folder / "trades.scid.zst").write_bytes(zstandard.compress(scid_trades(), 19))
    text = (folder / "bars.csv").read_bytes()
    (folder / "bars.csv.zst").write_bytes(zstandard.compress(text))
    for name, method in (("bars.csv.zip", zipfile.ZIP_DEFLATED), ("stored.csv.zip", zipfile.ZIP_STORED)):
        with zipfile.ZipFile(folder / name, "w", method) as archive:
            archive.writestr(zipfile.ZipInfo("readme.md"), "About these bars", method)
            archive.writestr(zipfile.ZipInfo("bars.csv"), text, method)


if __name__ == "__main__":
    write_all(pathlib.Path(sys.argv[1]))
    write_other_formats(pathlib.Path(sys.argv[1]))
