#!/usr/bin/env python3
"""Generates tests/market/data/features/: synthetic sessions and what pandas and scikit-learn compute from them.

The session features are computed as in the original system, with pandas. If contracts roll, the frame is rebuilt for
each row with all earlier prices shifted into that row's contract.

Needs pandas, numpy and scikit-learn (the files were generated with 3.1.1, 2.4.6 and 1.9.1).
Usage: make_golden.py [FOLDER]
"""

import calendar
import datetime
import functools
import json
import pathlib
import sys

import numpy as np
import pandas as pd
from sklearn.preprocessing import RobustScaler, StandardScaler

EPOCH = datetime.date(1970, 1, 1)
TICK = 0.25
PERIODS = (5, 10, 20, 50)
SESSIONS = 72
ROLLS = {31: 57, 58: -13}  # session: gap in ticks
PRICES = ["open", "high", "low", "close", "poc", "val", "vah", "vwap"]


def synthetic_sessions():
    random = np.random.default_rng(20240614)
    rows, price, offset = [], 18000, 0
    for i in range(SESSIONS):
        gap = ROLLS.get(i, 0)
        offset += gap
        price += gap + int(random.integers(-40, 41))
        open_ = price
        close = open_ + int(random.integers(-160, 161))
        high = max(open_, close) + int(random.integers(0, 90))
        low = min(open_, close) - int(random.integers(0, 90))
        val, vah = sorted(int(x) for x in random.integers(low, high + 1, 2))
        poc = int(random.integers(val, vah + 1))
        vwap = val + (vah - val) * random.random()
        volume = int(random.integers(200_000, 2_500_000))
        date = 19_000 + i // 5 * 7 + i % 5
        vix = 14 + 8 * random.random()
        rows.append((date, date * 86400 + 75600, offset, open_, high, low, close, volume, poc, val, vah, vwap, vix))
        price = close
    names = ["date", "end_time", "roll_offset", "open", "high", "low", "close", "volume",
             "poc", "val", "vah", "vwap", "vix"]
    return pd.DataFrame(rows, columns=names)


def original_features(sessions):
    """The 54 columns of sessions whose prices are in ticks of one contract."""
    s = sessions.copy()
    s[PRICES] = s[PRICES] * TICK
    f = pd.DataFrame(index=s.index)
    f["vpoc"] = s.poc
    f["total_volume"] = s.volume.astype(float)
    f["value_area_low"] = s.val
    f["value_area_high"] = s.vah
    f["value_area_width"] = s.vah - s.val
    f["price_range"] = np.maximum(s.high - s.low, 1e-4)
    f["range_pct"] = 100 * f.price_range / s.open
    f["close_change_pct"] = 100 * (s.close - s.open) / s.open
    f["session_high"], f["session_low"], f["session_open"], f["session_close"] = s.high, s.low, s.open, s.close
    f["vwap"] = s.vwap
    f["close_to_vwap_pct"] = 100 * (s.close - s.vwap) / s.vwap
    for p in PERIODS:
        if len(f) <= p:
            continue
        f[f"price_mom_{p}d"] = f.session_close.pct_change(p) * 100
        f[f"volatility_{p}d"] = f.close_change_pct.rolling(p).std()
        f[f"volume_trend_{p}d"] = f.total_volume.pct_change(p) * 100
        f[f"vpoc_change_{p}d"] = f.vpoc.diff(p)
        f[f"vpoc_pct_change_{p}d"] = f.vpoc.pct_change(p) * 100
        f[f"range_change_{p}d"] = f.range_pct.pct_change(p) * 100
        f[f"va_width_{p}d_ma"] = f.value_area_width.rolling(p).mean()
        f[f"va_width_change_{p}d"] = f.value_area_width / f[f"va_width_{p}d_ma"]
        f[f"vpoc_std_{p}d"] = f.vpoc.rolling(p).std()
        f[f"vpoc_zscore_{p}d"] = (f.vpoc - f.vpoc.rolling(p).mean()) / f[f"vpoc_std_{p}d"]
    return f.replace([np.inf, -np.inf], np.nan)


def rolled_features(sessions):
    """Like original_features, but each row has the earlier prices shifted into its contract.

    Percentages within one session are computed in that session's own contract.
    """
    own = original_features(sessions)
    rows = []
    for t in range(len(sessions)):
        seen = sessions.iloc[: t + 1].copy()
        seen[PRICES] = seen[PRICES].add(seen.roll_offset.iloc[-1] - seen.roll_offset, axis=0)
        f = original_features(seen).iloc[-1].reindex(own.columns)
        for p in PERIODS:
            f[f"volatility_{p}d"] = own[f"volatility_{p}d"].iloc[t]
            f[f"range_change_{p}d"] = own[f"range_change_{p}d"].iloc[t]
        rows.append(f)
    return pd.DataFrame(rows, index=own.index)


def third_friday(year, month):
    fridays = [week[calendar.FRIDAY] for week in calendar.monthcalendar(year, month) if week[calendar.FRIDAY]]
    return datetime.date(year, month, fridays[2])


def optional_features(sessions, shifted):
    """The groups that are off by default; shifted(t) is the frame up to t with prices in t's contract, in points."""
    rows = []
    for t in range(50, len(sessions)):
        s = shifted(t)
        f = {}
        f["vix_level"] = s.vix.iloc[-1]
        f["vix_change_1d"] = s.vix.diff().iloc[-1]
        f["vix_change_5d"] = s.vix.diff(5).iloc[-1]
        f["vix_zscore_20d"] = (s.vix.iloc[-1] - s.vix[-20:].mean()) / s.vix[-20:].std()
        returns = np.array([np.log(shifted(i).close.iloc[-1] / shifted(i).close.iloc[-2]) for i in range(1, t + 1)])
        years = (s.date.iloc[-1] - s.date.iloc[-21]) / 365.25
        f["vix_minus_realized_20d"] = s.vix.iloc[-1] - 100 * np.sqrt((returns[-20:] ** 2).sum() / years)
        for p in (1,) + PERIODS:
            f[f"log_return_{p}d"] = 100 * np.log(s.close.iloc[-1] / s.close.iloc[-1 - p])
        for p in PERIODS:
            f[f"realized_vol_{p}d"] = 100 * np.sqrt((returns[-p:] ** 2).mean())
        last, before = s.iloc[-1], s.iloc[-2]
        f["overnight_gap_pct"] = 100 * (last.open - before.close) / before.close
        f["overnight_gap_to_range"] = (last.open - before.close) / (before.high - before.low)
        f["overnight_gap_filled"] = float(last.low <= before.close <= last.high)
        date = EPOCH + datetime.timedelta(int(last.date))
        f["session_weekday"], f["session_month"] = date.weekday(), date.month
        expiries = [third_friday(date.year + i // 4, 3 * (i % 4) + 3) for i in range(8)]
        expiry = min(day for day in expiries if day >= date)
        f["days_to_expiry"] = (expiry - date).days
        f["expiry_week"] = float(expiry.isocalendar()[:2] == date.isocalendar()[:2])
        naked = [s.poc[i] for i in range(t) if not ((s.low[i + 1:] <= s.poc[i]) & (s.poc[i] <= s.high[i + 1:])).any()]
        above = min((poc - last.close for poc in naked if poc > last.close), default=np.inf)
        below = min((last.close - poc for poc in naked if poc < last.close), default=np.inf)
        f["naked_poc_above_pct"] = min(100 * above / last.close, 10)
        f["naked_poc_below_pct"] = min(100 * below / last.close, 10)
        rows.append(f)
    return pd.DataFrame(rows, index=range(50, len(sessions)))


def shift_into(sessions, t):
    seen = sessions.iloc[: t + 1].copy()
    seen[PRICES] = seen[PRICES].add(seen.roll_offset.iloc[-1] - seen.roll_offset, axis=0) * TICK
    return seen


BARS = 830
BARS_PER_SESSION = 275
BAR_ROLL, BAR_GAP = 2, 41  # session, ticks


def synthetic_bars():
    random = np.random.default_rng(7)
    rows, price = [], 18000
    for i in range(BARS):
        session = i // BARS_PER_SESSION
        if i == BAR_ROLL * BARS_PER_SESSION:
            price += BAR_GAP
        open_ = price + int(random.integers(-2, 3))
        close = open_ + (0 if random.random() < 0.3 else int(random.integers(-7, 8)))
        high = max(open_, close) + int(random.integers(0, 4))
        low = min(open_, close) - int(random.integers(0, 4))
        volume = 0 if random.random() < 0.05 else int(random.integers(1, 4000))
        date = 19_003 + session * (1 if session < 2 else 2)
        offset = BAR_GAP if session >= BAR_ROLL else 0
        vix = int(random.integers(48, 120)) / 4
        rows.append((date, date * 86400 + 50000 + 60 * (i % BARS_PER_SESSION), offset, open_, high, low, close, volume,
                     vix))
        price = close
    return pd.DataFrame(rows, columns=["date", "time", "roll_offset", "open", "high", "low", "close", "volume", "vix"])


def minute_features(bars):
    """The 19 columns per bar, from bars whose prices are in one contract; the timestamp is the end of the bar."""
    close, volume = bars.close.astype(float), bars.volume.astype(float)
    f = pd.DataFrame(index=bars.index)
    for n in (1, 3, 5):
        f[f"price_momentum_{n}d"] = 100 * close.pct_change(n)
    f["price_vs_ma_10d"] = 100 * (close / close.rolling(10).mean() - 1)
    f["price_acceleration"] = f.price_momentum_1d.diff()
    volume_mean = volume.rolling(5).mean()
    f["volume_ratio_5d"] = volume / volume_mean
    f["volume_surge"] = (f.volume_ratio_5d > 1.5).astype(float)
    opposite = np.sign(close.diff(5)) * np.sign(volume.rolling(5).sum().diff(5))
    f["volume_price_divergence"] = (opposite < 0).astype(float)
    change = close.diff()
    short, long = change.rolling(10).std(), change.rolling(60).std()
    f["volatility_regime"] = short / long
    f["volatility_trend"] = (short - short.shift(10)) / long
    bar_range = (bars.high - bars.low).astype(float)
    f["range_ratio_10d"] = bar_range / bar_range.rolling(10).mean()
    rises = change.clip(lower=0).rolling(14).mean()
    falls = -change.clip(upper=0).rolling(14).mean()
    f["rsi_14_lagged"] = (100 - 100 / (1 + rises / falls)).shift(1)
    line = close.ewm(span=12, adjust=False).mean() - close.ewm(span=26, adjust=False).mean()
    f["macd_crossover"] = (line > line.ewm(span=9, adjust=False).mean()).astype(float)
    previous = close.shift(1)
    true_range = pd.concat([bars.high - bars.low, (bars.high - previous).abs(), (bars.low - previous).abs()],
                           axis=1).max(axis=1)
    f["atr_ratio"] = 100 * true_range.rolling(14).mean() / close
    vwap = (close * volume).rolling(720).sum() / volume.rolling(720).sum()
    f["close_to_vwap_12h_pct"] = 100 * (close - vwap) / vwap
    f["vwap_12h_trend"] = 100 * vwap.pct_change(60)
    f["close_above_vwap_12h"] = (close > vwap).astype(float)
    f["vix_lagged"] = bars.vix.shift(1)
    f["day_of_week"] = bars.date.map(lambda days: (EPOCH + datetime.timedelta(days)).weekday()).astype(float)
    return f


def rolled_minute_features(bars, first):
    rows = []
    for t in range(first, len(bars)):
        seen = bars.iloc[: t + 1].copy()
        prices = ["open", "high", "low", "close"]
        seen[prices] = seen[prices].add(seen.roll_offset.iloc[-1] - seen.roll_offset, axis=0)
        rows.append(minute_features(seen).iloc[-1])
    return pd.DataFrame(rows, index=range(first, len(bars)))


def write(frame, path):
    frame = frame.dropna()
    frame.insert(0, "row", frame.index)
    frame.to_csv(path, index=False, float_format="%.17g", lineterminator="\n")


def scaler_record(scaler, center, train, frame):
    scaler.fit(train)
    scaled = np.clip(scaler.transform(frame), -10, 10)
    return {"rows": len(train), "center": list(getattr(scaler, center)), "scale": list(scaler.scale_),
            "last_row": list(scaled[-1])}


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "data/features"
    folder.mkdir(parents=True, exist_ok=True)
    sessions = synthetic_sessions()
    sessions.to_csv(folder / "sessions.csv", index=False, float_format="%.17g", lineterminator="\n")
    rolled = rolled_features(sessions)
    write(rolled, folder / "session_features_rolled.csv")
    write(original_features(sessions), folder / "session_features_mixed.csv")
    shifted = functools.lru_cache(None)(lambda t: shift_into(sessions, t))
    write(optional_features(sessions, shifted), folder / "optional_features.csv")
    bars = synthetic_bars()
    bars.to_csv(folder / "bars.csv", index=False, float_format="%.17g", lineterminator="\n")
    write(rolled_minute_features(bars, 779), folder / "minute_features.csv")
    frame = rolled.dropna().to_numpy()
    train = frame[:15]
    record = {"robust": scaler_record(RobustScaler(), "center_", train, frame),
              "standard": scaler_record(StandardScaler(), "mean_", train, frame)}
    (folder / "scaler.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
