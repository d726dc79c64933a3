"""REKINDLE_TEST_PART=2/4 runs the second of four parts of each module's tests. A test's name determines its part, so adding
tests does not move others. At least one test of each module runs."""
import os
import zlib

import pytest


def part_of(text):
    """(number, count) of "2/3"."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise pytest.UsageError(f'REKINDLE_TEST_PART is "{text}", expected NUMBER/COUNT such as 2/4')
    return int(number), int(count)


def pytest_collection_modifyitems(config, items):
    text = os.environ.get("REKINDLE_TEST_PART", "")
    if not text or not items:
        return
    number, count = part_of(text)
    kept = [item for item in items if zlib.crc32(item.nodeid.encode()) % count == number - 1] or items[:1]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
