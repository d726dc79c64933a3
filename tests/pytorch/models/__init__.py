"""Networks that the tests of the device train, written out: nothing here depends on torchvision."""
