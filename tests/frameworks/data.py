"""Writes small data sets where other people's scripts expect theirs, and in their formats. Each function takes a folder."""

import pickle
import struct

import numpy
from PIL import Image

SEED = 1


def _write_idx(path, array):
    """Writes MNIST's format: a magic number that contains the number of dimensions, the sizes, and the bytes."""
    header = struct.pack(f">i{array.ndim}i", 0x800 + array.ndim, *array.shape)
    path.write_bytes(header + array.astype(numpy.uint8).tobytes())


def digits(folder):
    """640 training and 160 test pictures of a bright bar; the row of the bar is the label."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    numbers = numpy.random.default_rng(SEED)
    for name, count in (("train", 640), ("t10k", 160)):
        labels = numpy.arange(count) % 10
        pictures = numbers.integers(0, 40, (count, 28, 28))
        for picture, label in zip(pictures, labels):
            picture[2 * label + 2 : 2 * label + 6] = 220
        _write_idx(raw / f"{name}-images-idx3-ubyte", pictures)
        _write_idx(raw / f"{name}-labels-idx1-ubyte", labels)


def pictures(folder, parts=("train", "val"), size=32, count=16, formats="png", classes=("bright", "dark")):
    """Bright and dark pictures with noise, in PART/CLASS/NUMBER.png; without classes, in PART/NUMBER.png."""
    numbers = numpy.random.default_rng(SEED)
    for part in parts:
        for level, name in enumerate(classes or [""]):
            place = folder / part / name
            place.mkdir(parents=True)
            for index in range(count):
                picture = numbers.integers(100 * level, 100 * level + 120, (size, size, 3), dtype=numpy.uint8)
                Image.fromarray(picture).save(place / f"{index}.{formats}")


def words(folder):
    """Sentences of 30 different words, in three files."""
    folder.mkdir(parents=True)
    numbers = numpy.random.default_rng(SEED)
    for name, count in (("train", 600), ("valid", 60), ("test", 60)):
        lines = [" ".join(f"word{number}" for number in numbers.integers(0, 30, 9)) for _ in range(count)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


def citations(folder):
    """A citation graph of 2,708 papers, the size of Cora, with 64 features and 7 subjects."""
    folder.mkdir(parents=True)
    numbers = numpy.random.default_rng(SEED)
    count = 2708
    subjects = numbers.integers(0, 7, count)
    features = numbers.random((count, 64)) < 0.1
    features[numpy.arange(count), subjects] = True
    rows = [f"{index} {' '.join(map(str, row.astype(int)))} subject{subject}"
            for index, (row, subject) in enumerate(zip(features, subjects))]
    (folder / "cora.content").write_text("\n".join(rows) + "\n")
    (folder / "cora.cites").write_text("\n".join(f"{a} {(a * 7 + 1) % count}" for a in range(count)) + "\n")


def text(folder):
    """Characters for minGPT's chargpt, which continues the text "O God, O God!"."""
    numbers = numpy.random.default_rng(SEED)
    parts = ("O God, O God! ", "what is it? ", "the sun is up. ")
    (folder / "input.txt").write_text("".join(parts[number] for number in numbers.integers(0, 3, 400)))


def tokens(folder):
    """Token files for nanoGPT, in which each token follows from the previous one."""
    folder.mkdir(parents=True)
    for name, count in (("train", 4096), ("val", 1024)):
        (numpy.arange(count) * 5 % 61).astype(numpy.uint16).tofile(folder / f"{name}.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 61}))
