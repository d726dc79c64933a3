"""transformers' Trainer with a small GPT-2; with --lora, only PEFT's LoRA matrices are trained."""

import sys

import job
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

lora = "--lora" in sys.argv
sys.argv = [argument for argument in sys.argv if argument != "--lora"]
device, precision = job.arguments()
job.seed()
config = GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(config)
if lora:
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True))
data = [{"input_ids": row, "labels": row} for row in job.sentences()]
options = TrainingArguments(
    job.scratch_folder(), per_device_train_batch_size=8, num_train_epochs=1, logging_steps=1, save_strategy="epoch",
    report_to=[], learning_rate=1e-2, disable_tqdm=True, bf16=precision == "bfloat16", fp16=precision == "float16",
)
trainer = Trainer(model=model, args=options, train_dataset=data, eval_dataset=data[:8])
trainer.train()
assert trainer.evaluate()["eval_loss"] > 0
job.finish([entry["loss"] for entry in trainer.state.log_history if "loss" in entry], options.device)
