#!/usr/bin/env python3
"""Reads the golden Parquet file of the writer's test and checks every value.

Needs pyarrow (checked with 26.0.1):  python3 check_parquet.py ../data/writing/table.parquet
A second argument is the number of rows, for another file that was written from the same table.
"""

import datetime
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def main(path, rows=20):
    table = pq.read_table(path)
    start = datetime.datetime(1969, 12, 31, 23, 0)
    instants = [start + datetime.timedelta(minutes=i) for i in range(rows)]
    words = ["ES", "", 'größer, "x"']
    expected = pa.table(
        {
            "instant": pa.array(instants, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
            "label": pa.array(instants, pa.timestamp("us")),
            "date": pa.array([datetime.date(1969, 12, 31) + datetime.timedelta(days=i) for i in range(rows)]),
            "number": pa.array([None if i % 3 == 1 else 0.1 * i for i in range(rows)], pa.float64()),
            "text": pa.array([words[i % 3] for i in range(rows)]),
        }
    )
    assert table.schema.types == expected.schema.types, table.schema
    assert table.to_pydict() == expected.to_pydict(), table
    pq.ParquetFile(path).metadata.to_dict()
    print(f"{path}: {table.num_rows} rows as expected")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
