"""Ultralytics' YOLOv8n from random weights on squares of 64 x 64 pixels, with validation and prediction."""

import pathlib

import job
import numpy
from PIL import Image
from ultralytics import YOLO


def write_pictures(folder):
    numbers = numpy.random.default_rng(1)
    for part in ("train", "val"):
        for kind in ("images", "labels"):
            (folder / kind / part).mkdir(parents=True)
        for index in range(8):
            picture = numbers.integers(0, 80, (64, 64, 3), dtype=numpy.uint8)
            x, y = numbers.integers(16, 48, 2)
            picture[y - 8 : y + 8, x - 8 : x + 8] = 255
            Image.fromarray(picture).save(folder / "images" / part / f"{index}.png")
            (folder / "labels" / part / f"{index}.txt").write_text(f"0 {x / 64} {y / 64} 0.25 0.25\n")
    text = f"path: {folder}\ntrain: images/train\nval: images/val\nnames:\n  0: square\n"
    (folder / "data.yaml").write_text(text)


device, precision = job.arguments()
folder = pathlib.Path(job.scratch_folder())
write_pictures(folder)
losses = []
model = YOLO("yolov8n.yaml")
model.add_callback("on_train_batch_end", lambda trainer: losses.append(trainer.loss.sum().item()))
model.train(
    data=str(folder / "data.yaml"), epochs=2, batch=4, imgsz=64, device=device, amp=precision == "float16", workers=0, plots=False,
    seed=1, project=str(folder), verbose=False,
)
model.predict(str(folder / "images" / "val" / "0.png"), device=device, verbose=False)
job.finish(losses, model.trainer.device)
