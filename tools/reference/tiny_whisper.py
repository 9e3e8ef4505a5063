"""Writes libs/model-store/src/convert/whisper/__fixtures__/: a tiny Whisper of random weights as CTranslate2 and as the hubs
have it, and what CTranslate2 computes with it.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install ctranslate2==4.8.5 numpy==2.4.6 safetensors==0.8.0
    /tmp/reference/bin/python tools/reference/tiny_whisper.py libs/model-store/src/convert/whisper/__fixtures__
"""

import json
import sys
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import whisper_spec
from safetensors.numpy import save_file

WIDTH, HEADS, INNER, LAYERS, VOCABULARY, MELS = 8, 2, 16, 2, 60, 80
POSITIONS, TEXT_POSITIONS, FRAMES = 1500, 24, 3000
SPECIALS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>"]
SPECIALS += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
PROMPT = [51, 52, 54, 58]

random = np.random.default_rng(34)
tensors = {}


def add(name, *shape, scale=None, offset=0.0):
    scale = scale or 1.2 / np.sqrt(shape[-1] if len(shape) < 3 else shape[1] * shape[2])
    tensors[f"model.{name}"] = (offset + random.normal(0, scale, shape)).astype(np.float16)


def layer(name, attentions):
    for attention in attentions:
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            add(f"{name}.{attention}.{part}.weight", WIDTH, WIDTH)
            if part != "k_proj":
                add(f"{name}.{attention}.{part}.bias", WIDTH, scale=0.1)
        norm(f"{name}.{attention}_layer_norm")
    norm(f"{name}.final_layer_norm")
    add(f"{name}.fc1.weight", INNER, WIDTH)
    add(f"{name}.fc1.bias", INNER, scale=0.1)
    add(f"{name}.fc2.weight", WIDTH, INNER)
    add(f"{name}.fc2.bias", WIDTH, scale=0.1)


def norm(name):
    add(f"{name}.weight", WIDTH, scale=0.1, offset=1.0)
    add(f"{name}.bias", WIDTH, scale=0.1)


def fill():
    add("encoder.conv1.weight", WIDTH, MELS, 3)
    add("encoder.conv1.bias", WIDTH, scale=0.1)
    add("encoder.conv2.weight", WIDTH, WIDTH, 3)
    add("encoder.conv2.bias", WIDTH, scale=0.1)
    add("encoder.embed_positions.weight", POSITIONS, WIDTH, scale=0.3)
    norm("encoder.layer_norm")
    add("decoder.embed_tokens.weight", VOCABULARY, WIDTH, scale=0.5)
    add("decoder.embed_positions.weight", TEXT_POSITIONS, WIDTH, scale=2.0)
    norm("decoder.layer_norm")
    for index in range(LAYERS):
        layer(f"encoder.layers.{index}", ["self_attn"])
        layer(f"decoder.layers.{index}", ["self_attn", "encoder_attn"])


def linear(spec, *names):
    """The layers side by side, as CTranslate2 has them; keys have no bias, which is zero there."""
    spec.weight = np.concatenate([tensors[f"model.{name}.weight"] for name in names])
    zero = np.zeros(WIDTH, np.float16)
    spec.bias = np.concatenate([tensors.get(f"model.{name}.bias", zero) for name in names])


def set_norm(spec, name):
    spec.gamma, spec.beta = tensors[f"model.{name}.weight"], tensors[f"model.{name}.bias"]


def set_layer(spec, name):
    own = f"{name}.self_attn"
    set_norm(spec.self_attention.layer_norm, f"{own}_layer_norm")
    linear(spec.self_attention.linear[0], f"{own}.q_proj", f"{own}.k_proj", f"{own}.v_proj")
    linear(spec.self_attention.linear[1], f"{own}.out_proj")
    if hasattr(spec, "attention"):
        other = f"{name}.encoder_attn"
        set_norm(spec.attention.layer_norm, f"{other}_layer_norm")
        linear(spec.attention.linear[0], f"{other}.q_proj")
        linear(spec.attention.linear[1], f"{other}.k_proj", f"{other}.v_proj")
        linear(spec.attention.linear[2], f"{other}.out_proj")
    set_norm(spec.ffn.layer_norm, f"{name}.final_layer_norm")
    linear(spec.ffn.linear_0, f"{name}.fc1")
    linear(spec.ffn.linear_1, f"{name}.fc2")


def ctranslate2_model():
    spec = whisper_spec.WhisperSpec(LAYERS, HEADS, LAYERS, HEADS)
    for convolution in ("conv1", "conv2"):
        linear(getattr(spec.encoder, convolution), f"encoder.{convolution}")
    for part in ("encoder", "decoder"):
        side = getattr(spec, part)
        side.position_encodings.encodings = tensors[f"model.{part}.embed_positions.weight"]
        set_norm(side.layer_norm, f"{part}.layer_norm")
        for index, each in enumerate(side.layer):
            set_layer(each, f"{part}.layers.{index}")
    spec.decoder.embeddings.weight = tensors["model.decoder.embed_tokens.weight"]
    spec.decoder.projection.weight = spec.decoder.embeddings.weight
    words = [f"w{index}" for index in range(VOCABULARY - len(SPECIALS) - 1)]
    spec.register_vocabulary(words + SPECIALS + ["<|0.00|>"])
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [1], [2, 50]
    spec.config.alignment_heads, spec.config.lang_ids = [[1, 0]], [52]
    return spec


def features():
    """Values that the specs compute too."""
    index = np.arange(MELS * FRAMES, dtype=np.float64)
    return np.sin(index / 37 + (index % 11)).astype(np.float32).reshape(1, MELS, FRAMES)


def reference(folder):
    model = ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="float32")
    encoded = model.encode(ctranslate2.StorageView.from_array(features()))
    options = {"beam_size": 1, "suppress_blank": False, "suppress_tokens": [], "max_length": 16}
    [result] = model.generate(encoded, [PROMPT], return_logits_vocab=True, **options)
    rows = [np.array(row).ravel() for row in result.logits[0]]
    return {
        "encoded": np.array(encoded)[0, ::150].round(5).tolist(),
        "prompt": PROMPT,
        "tokens": result.sequences_ids[0],
        "logits": [row.round(5).tolist() for row in rows[:4]],
    }


def main(folder):
    fill()
    for name in ("ctranslate2", "safetensors"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    spec = ctranslate2_model()
    spec.validate()
    spec.optimize()
    spec.save(str(folder / "ctranslate2"))
    save_file(tensors, folder / "safetensors" / "model.safetensors")
    config = {"model_type": "whisper", "activation_function": "gelu", "scale_embedding": False}
    config |= {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS}
    (folder / "safetensors" / "config.json").write_text(json.dumps(config) + "\n")
    (folder / "reference.json").write_text(json.dumps(reference(folder / "ctranslate2")) + "\n")
    (folder / "ctranslate2" / "vocabulary.json").unlink()


main(Path(sys.argv[1]))
