"""The networks that the device tests train, written from scratch: nothing here depends on torchvision."""
