"""Tests of the device that take minutes: python -m unittest long.test_models long.test_operators, in tests/pytorch."""
