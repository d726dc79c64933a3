"""The pipelines that docs/isa.md shows for each family of MODEL_FAMILIES: (kernel, case of kernels/audit/). As a program, prints
the families and a regular expression that finds "kernel (case)" of these pipelines.
"""
import re

MODEL_FAMILIES = ("navi10", "navi21", "navi31", "navi31-newest", "gfx1150", "gfx1201")

PIPELINES = (
    ("product_128x128", "float32, linear layer: A and B along k"),
    ("product_128x128", "float32, plain: A along k, B along columns"),
    ("product_128x128", "float32, A transposed"),
    ("product_wide_128x128", "float32, linear layer: A and B along k"),
    ("product_wide_128x128", "float32, plain: A along k, B along columns"),
    ("product_wide_128x128", "float32, A transposed"),
    ("product_64x128", "float32, linear layer: A and B along k"),
    ("product_64x128", "float32, plain: A along k, B along columns"),
    ("product_64x128", "float32, A transposed"),
    ("product_64x64", "float32, linear layer: A and B along k"),
    ("product_128x128_float16", "plain: A along k, B along columns"),
    ("product_128x128_float16", "plain: A along k, B along columns, float16 sums"),
    ("product_64x64_float16", "plain: A along k, B along columns"),
    ("product_64x64", "float16, plain"),
    ("product_units_128x128_16x16x16", "linear layer: A and B along k"),
    ("product_units_128x128_16x16x16", "plain: A along k, B along columns"),
    ("product_units_128x128_16x16x16", "A transposed"),
    ("product_units_128x128_16x16x16_bfloat16", "linear layer: A and B along k"),
    ("product_units_128x128_16x16x16_bfloat16", "plain: A along k, B along columns"),
    ("convolution_128x128", "forward, 2d"),
    ("convolution_128x128", "forward of one tap"),
    ("convolution_128x128", "input gradient, 2d"),
    ("convolution_128x128", "input gradient, stride"),
    ("convolution_128x128", "weight gradient in parts, 2d"),
    ("convolution_128x128", "weight gradient of one tap"),
    ("convolution_128x128_float16", "forward, 2d"),
    ("convolution_128x128_float16", "forward, 2d, float16 sums"),
    ("convolution_128x128_float16", "weight gradient in parts, 2d"),
    ("convolution_units_128x128_16x16x16", "result by pixels"),
    ("convolution_units_128x128_16x16x16", "result by channels"),
    ("convolution_units_128x128_16x16x16", "weight gradient"),
    ("attention_forward", "64 rows, width 64"),
    ("attention_forward", "64 rows, width 64, dropout"),
    ("attention_forward", "64 rows, width 128"),
    ("attention_forward", "64 rows, width 256"),
    ("attention_queries_backward", "64 rows, width 64"),
    ("attention_queries_backward", "64 rows, width 128"),
    ("attention_queries_backward", "64 rows, width 256"),
    ("attention_keys_backward", "64 rows, width 64"),
    ("attention_keys_backward", "64 rows, width 128"),
    ("attention_keys_backward", "32 rows, width 256"),
    ("attention_wide_forward", "64 rows, width 64"),
    ("attention_wide_forward", "32 rows, width 128"),
    ("attention_wide_queries_backward", "64 rows, width 64"),
    ("attention_wide_queries_backward", "32 rows, width 128"),
    ("attention_forward", "64 rows, width 64, float16"),
    ("attention_columns_forward_64_16x16x16", "plain"),
    ("attention_columns_keys_64_4_16x16x16", "plain"),
    ("attention_columns_queries_64_16x16x16", "plain"),
    ("attention_columns_forward_64_16x16x16_bfloat16", "plain"),
    ("train_population_32", "16-32-16-1, batch 8, divided"),
    ("train_population_64", "54-32-16-1, batch 8, divided"),
    ("train_population_256", "default 54-128-64-1, batch 32, divided"),
    ("recurrent_layer_1", "lstm"),
    ("softmax_forward", "softmax, rows in registers"),
)

if __name__ == "__main__":
    print(*MODEL_FAMILIES)
    print("^(" + "|".join(re.sub(r"([()|+.])", r"\\\1", f"{kernel} ({case})") for kernel, case in PIPELINES) + ")$")
