"""Writes the fixtures in this folder with the reference implementation of the format (PyPI gguf 0.x, numpy).

    pip install gguf numpy && python make-fixtures.py

blocks.json    for each type, random blocks with valid scales and the float32 values that gguf.quants computes
metadata.gguf  a small file with a value of every metadata type and tensors of three types
"""

import base64
import json
import pathlib

import gguf
import numpy as np

folder = pathlib.Path(__file__).parent
random = np.random.default_rng(20261120)

# The offsets of the half-precision scales in a block: random bytes there could be infinite or NaN.
scales = {
    "F16": [0], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ2_XXS": [0],
}


def encode(array):
    return base64.b64encode(array.tobytes()).decode()


def random_blocks(name, count):
    kind = gguf.GGMLQuantizationType[name]
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "BF16":
        numbers = random.normal(size=count).astype(np.float32)
        blocks = (numbers.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(count, 2)
    for offset in scales[name]:
        halves = random.normal(scale=0.1, size=count).astype(np.float16)
        blocks[:, offset : offset + 2] = halves.view(np.uint8).reshape(count, 2)
    return kind, blocks


fixtures = {}
for name in scales:
    kind, blocks = random_blocks(name, 40 if name in ("F16", "BF16") else 3)
    values = gguf.quants.dequantize(blocks.reshape(-1), kind).astype(np.float32)
    fixtures[name] = {"blocks": encode(blocks), "values": encode(values)}
(folder / "blocks.json").write_text(json.dumps(fixtures, indent=1) + "\n")

writer = gguf.GGUFWriter(folder / "metadata.gguf", "llama")
writer.add_uint8("test.uint8", 200)
writer.add_int8("test.int8", -5)
writer.add_uint16("test.uint16", 60000)
writer.add_int16("test.int16", -30000)
writer.add_uint32("test.uint32", 4000000000)
writer.add_int32("test.int32", -2000000000)
writer.add_uint64("test.uint64", 2**60)
writer.add_int64("test.int64", -(2**60))
writer.add_float32("test.float32", 0.5)
writer.add_float64("test.float64", 0.1)
writer.add_bool("test.bool", True)
writer.add_string("test.string", "naïve 漢字 🙂")
writer.add_array("test.strings", ["one", "two", ""])
writer.add_array("test.numbers", [1, 2, 3])
writer.add_tensor("plain", np.arange(8, dtype=np.float32).reshape(2, 4))
writer.add_tensor("half", np.arange(6, dtype=np.float16))
matrix = random.normal(size=(2, 64)).astype(np.float32)
quantized = gguf.quants.quantize(matrix, gguf.GGMLQuantizationType.Q8_0)
writer.add_tensor("blocks", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
