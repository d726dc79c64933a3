"""Tests of the device as PyTorch sees it: python -m pytest device, in tests/pytorch."""
