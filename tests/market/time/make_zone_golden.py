#!/usr/bin/env python3
"""Writes tests/market/data/zones.csv: `zone,utc,local,civil,utc_of_civil` by Python's zoneinfo (fold = 0).

Usage: tests/market/time/make_zone_golden.py > tests/market/data/zones.csv
The rows are around the offset changes in a few years, and at random times.
"""
import datetime
import random
import zoneinfo

ZONES = ["America/New_York", "America/Chicago", "Europe/London", "Europe/Berlin", "Asia/Tokyo", "Australia/Sydney",
         "America/Sao_Paulo", "Europe/Zurich"]
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)


def local_of(zone, instant):
    local = datetime.datetime.fromtimestamp(instant, UTC).astimezone(zone).replace(tzinfo=None)
    return int((local - EPOCH).total_seconds())


def utc_of(zone, civil):
    local = (EPOCH + datetime.timedelta(seconds=civil)).replace(tzinfo=zone, fold=0)
    return int(local.timestamp())


def changes(zone, year):
    begin = int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp())
    hours = [begin + 3600 * hour for hour in range(0, 366 * 24)]
    offsets = [local_of(zone, hour) - hour for hour in hours]
    return [hours[i] for i in range(1, len(hours)) if offsets[i] != offsets[i - 1]]


def main():
    generator = random.Random(1)
    print("# made by tests/market/time/make_zone_golden.py with Python's zoneinfo")
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        rows = set()
        for year in (1998, 2006, 2007, 2018, 2025, 2034):
            for change in changes(zone, year):
                offset_before = local_of(zone, change - 1) - (change - 1)
                for delta in (-7200, -3601, -3600, -1, 0, 1, 1800, 3599, 3600, 3601, 7200):
                    # Civil times of the skipped or repeated hour, with the offset before the change.
                    rows.add((change + delta, change + delta + offset_before))
        for _ in range(30):
            instant = generator.randrange(0, 2 * 10**9)
            rows.add((instant, local_of(zone, instant)))
        for instant, civil in sorted(rows):
            print(f"{name},{instant},{local_of(zone, instant)},{civil},{utc_of(zone, civil)}")


if __name__ == "__main__":
    main()
