"""Tests of the device that take minutes: python -m pytest long/test_models.py, in tests/pytorch."""
