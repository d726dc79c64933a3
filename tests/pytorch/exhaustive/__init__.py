"""Tests of the device that run all cases, for minutes to an hour: python -m pytest exhaustive/test_dtypes.py, in
tests/pytorch."""
