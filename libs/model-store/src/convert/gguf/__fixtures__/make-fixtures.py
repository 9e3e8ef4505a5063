"""Writes the fixtures in this folder with the reference implementation of the format (PyPI gguf 0.x, numpy).

    pip install gguf numpy && python make-fixtures.py

blocks.json    for each type, a hash of the float32 values that gguf.quants computes of 500 random blocks
metadata.gguf  a small file with a value of every metadata type and tensors of three types
"""

import hashlib
import json
import pathlib

import gguf
import numpy as np

folder = pathlib.Path(__file__).parent
random = np.random.default_rng(20261120)

# The offset of the upper byte of every half-precision scale in a block: its highest exponent bit is cleared, because
# random scales could be infinite or NaN.
scales = {
    "F16": [1], "BF16": [1], "Q4_0": [1], "Q4_1": [1, 3], "Q5_0": [1], "Q5_1": [1, 3], "Q8_0": [1],
    "Q2_K": [81, 83], "Q3_K": [109], "Q4_K": [1, 3], "Q5_K": [1, 3], "Q6_K": [209],
    "IQ1_S": [1], "IQ1_M": [55], "IQ2_XXS": [1], "IQ2_XS": [1], "IQ2_S": [1], "IQ3_XXS": [1], "IQ3_S": [1],
    "IQ4_NL": [1], "IQ4_XS": [1], "TQ1_0": [53], "TQ2_0": [65], "MXFP4": [],
}
COUNT = 500


def random_bytes(seed, size):
    """The same bytes as the test makes: hashes of the seed with a counter."""
    parts = (hashlib.sha256(f"{seed} {index}".encode()).digest() for index in range(-(-size // 32)))
    return np.frombuffer(b"".join(parts)[:size], dtype=np.uint8).copy()


fixtures = {}
for name, offsets in scales.items():
    kind = gguf.GGMLQuantizationType[name]
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = random_bytes(name, COUNT * size).reshape(COUNT, size)
    for offset in offsets:
        blocks[:, offset] &= 0xBF
    values = gguf.quants.dequantize(blocks.reshape(-1), kind).astype("<f4")
    fixtures[name] = {
        "scales": offsets,
        "first": [float(value) for value in values[:4]],
        "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
    }
rows = [f"{json.dumps(name)}: {json.dumps(fixture)}" for name, fixture in fixtures.items()]
(folder / "blocks.json").write_text("{\n  " + ",\n  ".join(rows) + "\n}\n")

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
