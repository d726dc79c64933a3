"""The versions of PyTorch that the device is tested with. The build reads this file as well, so it imports nothing."""

OLDEST = (2, 11)
NEWEST = (2, 15)


def minor_version(version):
    """(2, 13) for '2.13.0+cpu'."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def in_words(version):
    """'2.13' for (2, 13)."""
    return "{}.{}".format(*version)


TESTED = f"{in_words(OLDEST)} to {in_words(NEWEST)}"
