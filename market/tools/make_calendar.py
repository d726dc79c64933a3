#!/usr/bin/env python3
"""Writes market/data/us-cash-equities.yaml from the PyPI package exchange_calendars (calendar XNYS).

Usage: pip install exchange_calendars && market/tools/make_calendar.py > market/data/us-cash-equities.yaml
"""
import datetime

import exchange_calendars
import pandas

FROM, TO = datetime.date(1995, 1, 1), datetime.date(2028, 12, 31)


def rows(dates):
    by_year = {}
    for day in dates:
        by_year.setdefault(day.year, []).append(day.isoformat())
    for year in sorted(by_year):
        days = by_year[year]
        for start in range(0, len(days), 6):
            yield "  " + ", ".join(days[start:start + 6]) + ","


def main():
    calendar = exchange_calendars.get_calendar("XNYS", start=str(FROM), end=str(TO))
    open_days = {day.date() for day in calendar.sessions}
    weekdays = [day.date() for day in pandas.bdate_range(FROM, TO)]
    early = {}
    for day, close in calendar.closes.items():
        local = close.tz_convert("America/New_York") if close.tzinfo else close.tz_localize("UTC").tz_convert("America/New_York")
        if (local.hour, local.minute) != (16, 0):
            early.setdefault(f"{local.hour:02}:{local.minute:02}", []).append(day.date())

    print("# Made by market/tools/make_calendar.py; the format is described in docs/formats/calendar.md.")
    print("format: rekindle-calendar/1")
    print("name: US cash equities (NYSE, Nasdaq)")
    print(f"valid_from: {FROM}")
    print(f"valid_to: {TO}")
    print(f"checked: {datetime.date.today()}")
    print(f"source: PyPI package exchange_calendars {exchange_calendars.__version__}, calendar XNYS")
    print("holidays: [")
    print("\n".join(rows(day for day in weekdays if day not in open_days)))
    print("]")
    print("half_days: # local time at which regular hours end: dates")
    for close in sorted(early):
        print(f'  "{close}": [')
        print("\n".join("  " + row for row in rows(sorted(early[close]))))
        print("  ]")


if __name__ == "__main__":
    main()
