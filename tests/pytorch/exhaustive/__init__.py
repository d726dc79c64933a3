"""Tests of the device that take an hour or longer: python -m pytest exhaustive/test_dtypes.py, in tests/pytorch."""
