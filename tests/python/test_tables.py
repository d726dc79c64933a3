"""Tables of other libraries come in and go out."""

import datetime
import decimal

import numpy as np
import pytest

import rekindle_train as rk

pa = pytest.importorskip("pyarrow")
pacsv = pytest.importorskip("pyarrow.csv")


@pytest.fixture(scope="module")
def arrow(csv):
    return pacsv.read_csv(csv, read_options=pacsv.ReadOptions(skip_rows=1))


def same_bars(one, other):
    assert one.columns == other.columns
    for name in one.columns:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def polars_table(arrow):
    return pytest.importorskip("polars").from_arrow(arrow)


def pandas_table(arrow):
    pytest.importorskip("pandas")
    return arrow.to_pandas()


def pandas_index(arrow):
    """The time as an unnamed index, as vendors' libraries give it."""
    frame = pandas_table(arrow)
    frame.index = frame.pop(frame.columns[0]).rename(None)
    return frame


def duckdb_relation(arrow):
    duckdb = pytest.importorskip("duckdb")
    duckdb.register("bars", arrow)
    return duckdb.sql("select * from bars")


def batches(arrow):
    return pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=1000))


def single_batch(arrow):
    return arrow.combine_chunks().to_batches()[0]


def sliced(arrow):
    """Arrays with an offset."""
    return pa.concat_tables([arrow.slice(0, 50_003), arrow.slice(50_003)])


@pytest.mark.parametrize(
    "make", [lambda t: t, polars_table, pandas_table, pandas_index, duckdb_relation, batches, single_batch, sliced]
)
def test_in(arrow, bars, make):
    read = rk.read_bars(make(arrow), name="ES", progress=False)
    assert read.format == "Arrow table"
    assert read.files == ["memory:ES"]
    same_bars(read.table(), bars.table())
    same_bars(read.sessions(), bars.sessions())


def test_hash_does_not_depend_on_batches(arrow):
    hashes = {rk.read_bars(table, progress=False)._report["data_hash"] for table in (arrow, batches(arrow), single_batch(arrow))}
    assert len(hashes) == 1


TIMES = [datetime.datetime(2024, 3, 1, 14, 31) + datetime.timedelta(minutes=i) for i in range(6)]
PRICES = [100.25, 100.5, 100.0, 100.75, 101.25, 101.0]


def small(time, price=None, volume=None):
    price = pa.array(PRICES) if price is None else price
    volume = pa.array([10, 20, 30, 40, 50, 60]) if volume is None else volume
    return pa.table({"time": time, "open": price, "high": price, "low": price, "close": price, "volume": volume})


SECONDS = [int((time - datetime.datetime(1970, 1, 1)).total_seconds()) for time in TIMES]


@pytest.mark.parametrize(
    "time",
    [
        *(pa.array(TIMES, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array(TIMES, pa.timestamp("us", "UTC")),
        pa.array(TIMES, pa.timestamp("ns", "America/Chicago")),  # of instants, in whatever zone they are shown
        pa.array(SECONDS, pa.int64()),
        pa.array([1000 * second for second in SECONDS], pa.uint64()),
        pa.array([str(time) for time in TIMES]),
        pa.array([str(time) for time in TIMES], pa.large_string()),
        pa.array([str(time) for time in TIMES]).dictionary_encode(),
        pa.array([f"{time:%Y-%m-%d %H:%M}" for time in TIMES]).cast(pa.string_view()),
    ],
    ids=lambda time: str(time.type),
)
def test_times(time):
    table = rk.read_bars(small(time), progress=False).table()
    assert list(table["time"].astype(int)) == SECONDS


@pytest.mark.parametrize(
    "price",
    [
        pa.array(PRICES, pa.float32()),
        pa.array(np.array(PRICES, np.float16)),
        pa.array([decimal.Decimal(str(price)) for price in PRICES], pa.decimal128(12, 4)),
        pa.array([str(price) for price in PRICES], pa.string_view()),
    ],
    ids=lambda price: str(price.type),
)
def test_prices(price):
    table = rk.read_bars(small(pa.array(TIMES), price), tick=0.25, progress=False).table()
    assert list(table["close"]) == PRICES


def test_dates():
    days = [datetime.date(2024, 3, 4) + datetime.timedelta(days=i) for i in range(5)]
    for kind in (pa.date32(), pa.date64()):
        table = rk.read_bars(small(pa.array(days, kind), pa.array(PRICES[:5]), pa.array([1, 2, 3, 4, 5])), progress=False).table()
        assert [str(day)[:10] for day in table["time"]] == [str(day) for day in days]


def test_nulls_are_bad_rows():
    table = small(pa.array(TIMES), pa.array([*PRICES[:3], None, *PRICES[4:]]))
    with pytest.raises(rk.UsageError, match="memory:table:4:") as error:
        rk.read_bars(table, progress=False)
    assert "bad_rows='skip'" in error.value.hint
    bars = rk.read_bars(table, bad_rows="skip", progress=False)
    assert len(bars) == 5
    assert list(bars.rejected["line"]) == [4]


def test_several_tables_are_one_history(arrow, bars):
    half = len(arrow) // 2
    read = rk.read_bars([arrow.slice(half), arrow.slice(0, half)], name="ES", progress=False)
    same_bars(read.table(), bars.table())


def test_lists_are_not_read():
    table = small(pa.array(TIMES)).append_column("parts", pa.array([[1]] * 6))
    bars = rk.read_bars(table, progress=False)
    assert any("parts" in note for note in bars.notes)


def test_out(bars):
    for table in (bars.table(), bars.sessions(), bars.features(progress=False), bars.profiles().table):
        exported = pa.table(table)
        assert exported.num_rows == len(table)
        exported.validate(full=True)
        for name in table.columns:
            values = exported[name].combine_chunks().to_numpy(zero_copy_only=False)
            np.testing.assert_array_equal(values, table[name], err_msg=name)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(bars.sessions())["point_of_control"].to_list() == list(bars.sessions()["point_of_control"])
    duckdb = pytest.importorskip("duckdb")
    exported = pa.table(bars.table())
    assert duckdb.sql("select sum(volume) from exported").fetchall()[0][0] == bars.table()["volume"].sum()


def test_schema(bars):
    schema = pa.schema(bars.sessions())
    assert schema.field("known_at").type == pa.timestamp("s", "UTC")
    assert schema.field("date").type == pa.date32()
    assert schema.field("half_day").type == pa.bool_()


def test_values_are_shared(bars):
    """The columns of the bars are viewed where they are, by NumPy and by Arrow, and outlive the table."""
    table = bars.table()
    view, exported = table["volume"], pa.table(table)
    assert view.__array_interface__["data"][0] == exported["volume"].chunk(0).buffers()[1].address
    assert not view.flags.writeable
    total = view.sum()
    del table
    assert view.sum() == exported["volume"].to_numpy().sum() == total


def test_pandas(bars):
    pytest.importorskip("pandas")
    frame = bars.sessions().to_pandas()
    assert list(frame["close"]) == list(bars.sessions()["close"])
    assert str(frame["date"].dtype).startswith("datetime64")
