"""Runs other people's training scripts, unchanged, on the CPU and through torch_rvk.run on data made here, and prints the
table of docs/frameworks.md.

    python scripts.py [--only NAME…] [--cache FOLDER]

Each repository is fetched at a fixed commit into FOLDER (build/frameworks by default); one that is there is not fetched
again. The exit status is 1 if a script fails or its losses differ.
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import data
import results
from results import Failure

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
AT_EXIT = HERE / "at_exit"
COMMITS = {
    "pytorch/examples": "77f55b912142e11fcfdf5b530231fb9c52f181e8",
    "karpathy/minGPT": "37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    "karpathy/nanoGPT": "3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
    "huggingface/pytorch-image-models": "aa4b5850c1543fa488abf260f18390eda46cf85d",
    "pytorch/vision": "945bdad7523806b15d3740ce6ace2fced9ef9d3b",
    "huggingface/diffusers": "58eb52c0803ea9af3abec60841c2a093bdf1f951",
    "huggingface/transformers": "f12b50a09220260697f62400a921c6e596246c0a",
    "Lightning-AI/pytorch-lightning": "7f0c3436cd3f6ad3753125672024fc415cbcb414",
}
# Repositories of which only this folder is fetched, because their package is installed.
FOLDERS = {
    "pytorch/vision": "references",
    "huggingface/diffusers": "examples/unconditional_image_generation",
    "huggingface/transformers": "examples/pytorch/language-modeling",
    "Lightning-AI/pytorch-lightning": "examples/fabric/image_classifier",
}
NUMBER = r"(-?\d+\.\d+(?:e[+-]?\d+)?)"
EXACT = 2e-3  # scripts print three to six digits
SIXTEEN_BITS = 3e-2
RANDOM = 0.3  # of the mean loss, for scripts that draw random numbers on the device, whose sequence differs from the CPU's
HEADER = ("script", "command", "losses", "difference", "compared")


@dataclasses.dataclass(frozen=True)
class Script:
    repository: str
    path: str
    arguments: str  # {device} becomes cuda, or cpu for the reference
    loss: str  # a pattern: group 1 is the loss; a group named step, if any, identifies repeated lines
    data: object = None  # a function of data.py
    place: str = "."  # folder for the data, relative to the script
    accelerator: str = ""  # the argument that turns the accelerator on
    tolerance: float = EXACT
    seeded: bool = False  # whether seeded.py must seed the random number generators

    @property
    def name(self):
        return f"{self.repository.partition('/')[2]}/{self.path}"

    def words(self, device):
        words = self.arguments.format(device=device).split()
        return words + ([self.accelerator] if self.accelerator and device != "cpu" else [])


def _example(path, arguments, loss, make, place, **options):
    return Script("pytorch/examples", path, arguments, loss, make, place, **options)


_EPOCH = rf"Train Epoch.*Loss: {NUMBER}"
_NANO = ("--dataset=rvk --n_layer=2 --n_head=2 --n_embd=32 --block_size=16 --batch_size=4 --max_iters=8 --eval_interval=8 "
         "--eval_iters=2 --gradient_accumulation_steps=2 --warmup_iters=2 --lr_decay_iters=8 --device={device} --dtype=")
_NANO_LOSS = rf"iter \d+: loss {NUMBER}"
_TIMM = ("--data-dir data --dataset ImageFolder --model resnet18 --num-classes 2 --img-size 32 --input-size 3 32 32 --batch-size 8 "
         "--epochs 1 --warmup-epochs 0 --workers 1 --log-interval 1 --lr 0.01 --aa original --no-prefetcher --crop-pct 1.0 "
         "--device {device}")
_TIMM_LOSS = rf"Train: .*?Loss: *{NUMBER}"
# With small batches, batch norm amplifies rounding errors in gradients; a small learning rate keeps the losses comparable.
_VISION = "--data-path data --workers 0 --epochs 1 --print-freq 1 --lr 1e-4 --device {device} "
_VISION_LOSS = rf"Epoch: .*? loss: [0-9.]+ \({NUMBER}\)"


def _vision(path, arguments, make, **options):
    return Script("pytorch/vision", f"references/{path}", _VISION + arguments, _VISION_LOSS, make, "data", seeded=True, **options)


def _classes(folder):
    data.pictures(folder, count=12, classes="abcde")


_CLASSIFICATION = "--batch-size 20 --model resnet18 --train-crop-size 32 --val-resize-size 32 --val-crop-size 32"
_SEGMENTATION = "--batch-size 2 --dataset voc --model lraspp_mobilenet_v3_large"
_LANGUAGE = ("--train_file words/train.txt --tokenizer_name words --do_train --max_steps 8 --logging_steps 1 --report_to none "
             "--per_device_train_batch_size 4 --learning_rate 1e-2 --output_dir out --model_type ")
_GPT2 = ("gpt2 --block_size 32 --config_overrides vocab_size=36,n_embd=32,n_layer=2,n_head=2,resid_pdrop=0.0,embd_pdrop=0.0,"
         "attn_pdrop=0.0")
_BERT = ("bert --max_seq_length 32 --config_overrides vocab_size=36,hidden_size=32,num_hidden_layers=2,num_attention_heads=2,"
         "intermediate_size=64,hidden_dropout_prob=0.0,attention_probs_dropout_prob=0.0")


def _language(name, arguments, **options):
    return Script("huggingface/transformers", f"examples/pytorch/language-modeling/{name}.py", _LANGUAGE + arguments,
                  rf"'loss': '?{NUMBER}", data.tokenized, "words", **options)


ALL = (
    _example("mnist/main.py", "--epochs 1 --log-interval 1", _EPOCH, data.digits, "../data", tolerance=RANDOM),
    _example("mnist_rnn/main.py", "--epochs 1 --log-interval 1", _EPOCH, data.digits, "../data", accelerator="--accel",
             tolerance=RANDOM),
    _example("vae/main.py", "--epochs 2 --log-interval 1", _EPOCH, data.digits, "../data", tolerance=RANDOM),
    _example("dcgan/main.py", "--dataset folder --dataroot pictures --niter 2 --batchSize 8 --imageSize 64 --ngf 8 --ndf 8 "
             "--workers 0 --manualSeed 1", rf"Loss_D: {NUMBER}", lambda folder: data.pictures(folder, ("one",), 64),
             "pictures", accelerator="--accel", tolerance=RANDOM),
    _example("gat/main.py", "--epochs 2 --val-every 1 --dropout-p 0 --hidden-dim 8 --num-heads 2", rf"loss_train: {NUMBER}",
             data.citations, "cora"),
    _example("imagenet/main.py", "--arch resnet18 --epochs 1 --batch-size 4 --workers 0 --print-freq 1 --lr 1e-4 --seed 1 data",
             rf"Epoch: .*?Loss {NUMBER}", lambda folder: data.pictures(folder, count=3, classes="abcde"), "data",
             accelerator="--gpu=0"),
    _example("super_resolution/main.py", "--upscale_factor 4 --batchSize 2 --testBatchSize 2 --nEpochs 1 --threads 0", rf"Loss: {NUMBER}",
             lambda folder: data.pictures(folder, ("train", "test"), 64, 6, "jpg", ()), "dataset/BSDS300/images",
             accelerator="--accel"),
    *(_example("word_language_model/main.py", f"--data words --model {model} --emsize 32 --nhid 32 --nlayers 1 --epochs 1 "
               "--batch_size 10 --bptt 15 --log-interval 5 --dropout 0 --lr 1", rf"loss +{NUMBER}", data.words, "words",
               accelerator="--accel", tolerance=RANDOM if model == "Transformer" else EXACT) for model in ("LSTM", "GRU", "Transformer")),
    Script("karpathy/minGPT", "projects/chargpt/chargpt.py",
           "--trainer.max_iters=31 --trainer.batch_size=4 --trainer.num_workers=0 --trainer.device={device} --model.model_type=gpt-nano "
           "--data.block_size=32 --model.embd_pdrop=0.0 --model.resid_pdrop=0.0 --model.attn_pdrop=0.0",
           rf"train loss {NUMBER}", data.text),
    *(Script("karpathy/nanoGPT", "train.py", _NANO + dtype, _NANO_LOSS, data.tokens, "data/rvk",
             tolerance=EXACT if dtype == "float32" else SIXTEEN_BITS) for dtype in ("float32", "bfloat16", "float16")),
    Script("huggingface/pytorch-image-models", "train.py", _TIMM, _TIMM_LOSS, data.pictures, "data"),
    Script("huggingface/pytorch-image-models", "train.py", _TIMM + " --amp", _TIMM_LOSS, data.pictures, "data",
           tolerance=SIXTEEN_BITS),
    _vision("classification/train.py", _CLASSIFICATION, _classes),
    _vision("classification/train.py", _CLASSIFICATION + " --amp", _classes, tolerance=SIXTEEN_BITS),
    _vision("segmentation/train.py", _SEGMENTATION, data.segments),
    _vision("segmentation/train.py", _SEGMENTATION + " --amp", data.segments, tolerance=SIXTEEN_BITS),
    _vision("detection/train.py", "--batch-size 2 --model ssdlite320_mobilenet_v3_large", data.objects),
    _vision("detection/train.py", "--batch-size 2 --model fasterrcnn_mobilenet_v3_large_320_fpn", data.objects,
            tolerance=RANDOM),
    Script("huggingface/diffusers", "examples/unconditional_image_generation/train_unconditional.py",
           "--train_data_dir data --model_config_name_or_path data/unet.json --resolution 16 --train_batch_size 4 --num_epochs 2 "
           "--dataloader_num_workers 0 --output_dir out --cache_dir cache --ddpm_num_inference_steps 2 --eval_batch_size 1 "
           "--use_ema --learning_rate 1e-3 --lr_warmup_steps 1",
           r"loss=([\d.e+-]+), lr=.*?step=(?P<step>\d+)", data.diffusion, "data", tolerance=RANDOM, seeded=True),
    _language("run_clm", _GPT2),
    *(_language("run_clm", _GPT2 + precision, tolerance=SIXTEEN_BITS) for precision in (" --bf16", " --fp16")),
    _language("run_mlm", _BERT),
    Script("Lightning-AI/pytorch-lightning", "examples/fabric/image_classifier/train_fabric.py",
           "--epochs 1 --log-interval 1", _EPOCH, data.digits, "../../../Datasets", tolerance=RANDOM),
)


def fetch(repository, cache):
    """Returns the folder of the repository, checked out at its commit."""
    folder = cache / repository.partition("/")[2]
    if not folder.exists():
        print(f"Fetching {repository} into {folder}.", file=sys.stderr)
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        part = FOLDERS.get(repository)
        for words in (
            "init --quiet",
            f"remote add origin https://github.com/{repository}",
            *([f"sparse-checkout set {part}"] if part else []),
            f"fetch --quiet --depth 1 --filter=blob:none origin {COMMITS[repository]}",
            "checkout --quiet FETCH_HEAD",
        ):
            subprocess.run(["git", *words.split()], cwd=unfinished, check=True)
        unfinished.rename(folder)
    return folder


def losses(script, cache, prefix, device, environment):
    """Runs the script in a copy of its repository and returns the losses that it prints."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "copy"
        shutil.copytree(fetch(script.repository, cache), copy, ignore=shutil.ignore_patterns(".git"))
        folder = (copy / script.path).parent
        if script.data:
            script.data(folder / script.place)
        path = ":".join(filter(None, (str(copy), str(AT_EXIT), results.python_path())))
        seeded = [str(HERE / "seeded.py")] if script.seeded else []
        command = [*prefix, *seeded, str(copy / script.path), *script.words(device)]
        offline = {"HF_HOME": scratch, "HF_HUB_OFFLINE": "1"}
        text = "".join(results.run(command, folder, {"PYTHONPATH": path} | offline | environment))
    if bool(re.search(r"rvk: at most [1-9]\d* bytes in use", text)) != bool(prefix):
        raise Failure("the script did not use the device" if prefix else "the reference used the device")
    matches = re.finditer(script.loss, text)
    return list({match.groupdict().get("step", match.start()): float(match[1]) for match in matches}.values())


def difference(script, found, expected):
    if script.tolerance != RANDOM:
        return results.difference(found, expected)
    if len(found) != len(expected) or not found:
        raise Failure(f"{len(found)} losses instead of {len(expected)}")
    return results.difference([sum(found)], [sum(expected)])


def compared(script, cache):
    """Returns the cells of the script's row, and whether it failed."""
    kind = {RANDOM: "mean; draws random numbers on the device", EXACT: "each", SIXTEEN_BITS: "each, with float32 on the CPU"}
    reference = script
    if script.tolerance == SIXTEEN_BITS:
        plain = re.sub(r" --(amp|bf16|fp16)", "", re.sub(r"(--dtype=)\w+", r"\1float32", script.arguments))
        reference = dataclasses.replace(script, arguments=plain)
    command = f"`{script.path} {' '.join(script.words('cuda'))}`"
    try:
        expected = losses(reference, cache, (), "cpu", results.ON_CPU)
        found = losses(script, cache, results.THROUGH_RUN, "cuda", {})
        value = difference(script, found, expected)
    except Failure as failure:
        print(f"{script.name}: {failure}", file=sys.stderr)
        return (script.name, command, "0", "failed", ""), True
    cells = (script.name, command, f"{len(found)}", results.cell(value, script.tolerance), kind[script.tolerance])
    return cells, not value <= script.tolerance


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=[], help="only scripts whose names contain one of these")
    parser.add_argument("--cache", type=pathlib.Path, default=REPOSITORY / "build" / "frameworks")
    options = parser.parse_args()
    scripts = [script for script in ALL if not options.only or any(part in script.name for part in options.only)]
    results.print_table(HEADER, (compared(script, options.cache) for script in scripts))


if __name__ == "__main__":
    main()
