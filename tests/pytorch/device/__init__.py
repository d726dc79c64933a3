"""Tests of the device as PyTorch sees it: python -m unittest discover -s device -t . in tests/pytorch."""
