"""Writes small data sets where other people's scripts expect theirs, and in their formats. Each function takes a folder."""

import json
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
    """Noisy pictures, whose brightness depends on the class, in PART/CLASS/NUMBER.png; without classes, in PART/NUMBER.png."""
    numbers = numpy.random.default_rng(SEED)
    for part in parts:
        for rank, name in enumerate(classes or [""]):
            darkest = 100 * rank // max(len(classes) - 1, 1)
            place = folder / part / name
            place.mkdir(parents=True)
            for index in range(count):
                picture = numbers.integers(darkest, darkest + 120, (size, size, 3), dtype=numpy.uint8)
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


def tokenized(folder):
    """The sentences of words(), and a tokenizer for them in the format of transformers."""
    import tokenizers
    import transformers

    words(folder)
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "pad", "mask", "cls", "sep", "eos")}
    names = [*special.values(), *(f"word{number}" for number in range(30))]
    model = tokenizers.models.WordLevel({name: number for number, name in enumerate(names)}, special["unk_token"])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)


def diffusion(folder):
    """Pictures, and the configuration of a small UNet for diffusers."""
    pictures(folder, ("train",), 16, 8)
    unet = {
        "sample_size": 16, "layers_per_block": 1, "block_out_channels": (32, 64), "norm_num_groups": 8,
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    }
    (folder / "unet.json").write_text(json.dumps(unet))


def _squares(folder, count, size=96):
    """Dark pictures with one bright square each, in NUMBER.jpg. Returns the squares' upper left corners and their side length."""
    folder.mkdir(parents=True)
    numbers = numpy.random.default_rng(SEED)
    corners = numbers.integers(8, size // 2, (count, 2))
    for number, (x, y) in enumerate(corners):
        picture = numbers.integers(0, 80, (size, size, 3), dtype=numpy.uint8)
        picture[y : y + size // 3, x : x + size // 3] += 120
        Image.fromarray(picture).save(folder / f"{number}.jpg")
    return corners.tolist(), size // 3


def segments(folder):
    """Squares and the class of each pixel, in the format of Pascal VOC."""
    voc = folder / "VOCdevkit" / "VOC2012"
    corners, side = _squares(voc / "JPEGImages", 4)
    for place in ("SegmentationClass", "ImageSets/Segmentation"):
        (voc / place).mkdir(parents=True)
    for number, (x, y) in enumerate(corners):
        classes = numpy.zeros((96, 96), numpy.uint8)
        classes[y : y + side, x : x + side] = 1
        Image.fromarray(classes).save(voc / "SegmentationClass" / f"{number}.png")
    for name, lines in (("train", "0\n1\n2\n3\n"), ("val", "0\n")):
        (voc / "ImageSets" / "Segmentation" / f"{name}.txt").write_text(lines)


def objects(folder):
    """Squares and their boxes, in the format of COCO."""
    (folder / "annotations").mkdir(parents=True)
    for part in ("train", "val"):
        corners, side = _squares(folder / f"{part}2017", 8)
        images = [{"id": number, "file_name": f"{number}.jpg", "width": 96, "height": 96} for number in range(len(corners))]
        common = {"category_id": 1, "area": side * side, "iscrowd": 0}
        boxes = [{"id": number + 1, "image_id": number, "bbox": [x, y, side, side],
                  "segmentation": [[x, y, x + side, y, x + side, y + side, x, y + side]]} | common
                 for number, (x, y) in enumerate(corners)]
        content = {"info": {}, "images": images, "annotations": boxes, "categories": [{"id": 1, "name": "square"}]}
        (folder / "annotations" / f"instances_{part}2017.json").write_text(json.dumps(content))
