"""Writes libs/inference/src/families/parakeet/__fixtures__/: a tiny token-and-duration transducer of random weights in the two
layouts in which Parakeet is published, the features that transformers extracts, and what onnx-asr decodes.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install onnx-asr==0.12.0 transformers==5.23.0 torch==2.15.0 onnx==1.23.2 onnxruntime==1.32.0
    /tmp/reference/bin/python tools/reference/tiny_parakeet.py libs/inference/src/families/parakeet/__fixtures__
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_asr
from onnx import TensorProto, helper, numpy_helper
from transformers import ParakeetFeatureExtractor

BANDS, WIDTH, HIDDEN, LAYERS, INNER, DURATIONS = 128, 16, 8, 2, 12, 5
RATE, SEED = 16000, 7
PIECES = "<unk> ▁the ▁a ▁and ▁to ▁river ▁was ▁wide ▁we ▁saw ▁it ▁then ▁boat ▁went ▁by s ed ing er ly . , ? ! ' ▁ ▁5 0 川 <|en|> <blk>".split()
BLANK = len(PIECES) - 1

random = np.random.default_rng(SEED)


def weight(*shape, scale=None):
    scale = scale or 1 / math.sqrt(shape[-1] if len(shape) < 3 else shape[1] * shape[2])
    return random.normal(0, scale, shape).astype(np.float32)


WEIGHTS = {
    **{f"conv{index}": weight(WIDTH, BANDS if index == 0 else WIDTH, 3, scale=0.12 if index == 0 else 0.3) for index in range(3)},
    "embedding": weight(len(PIECES), HIDDEN, scale=1.5),
    **{f"w{layer}": weight(1, 4 * HIDDEN, HIDDEN, scale=0.8) for layer in range(LAYERS)},
    **{f"r{layer}": weight(1, 4 * HIDDEN, HIDDEN, scale=0.8) for layer in range(LAYERS)},
    **{f"b{layer}": weight(1, 8 * HIDDEN, scale=0.2) for layer in range(LAYERS)},
    "from_encoder": weight(WIDTH, INNER, scale=0.5),
    "from_predictor": weight(HIDDEN, INNER, scale=2.0),
    "logits": weight(INNER, len(PIECES) + DURATIONS, scale=1.0),
    "bias": np.zeros(len(PIECES) + DURATIONS, np.float32),
}
WEIGHTS["embedding"][BLANK] = 0
WEIGHTS["bias"][BLANK] = 4
WEIGHTS["bias"][PIECES.index("▁")] = -4
WEIGHTS["bias"][[len(PIECES), len(PIECES) + 4]] = [-2, 1]


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs, names, constants=()):
    initializers = [numpy_helper.from_array(WEIGHTS[name], name) for name in names]
    initializers += [numpy_helper.from_array(np.array(array, np.int64), name) for name, array in constants]
    graph = helper.make_graph(nodes, "main_graph", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def encoder(path):
    nodes, last, length = [], "audio_signal", "length"
    for index in range(3):
        nodes.append(node("Conv", f"{last} conv{index}", f"x{index}", kernel_shape=[3], strides=[2], pads=[1, 1]))
        nodes.append(node("Tanh", f"x{index}", "outputs" if index == 2 else f"y{index}"))
        nodes.append(node("Sub", f"{length} one", f"s{index}"))
        nodes.append(node("Div", f"s{index} two", f"d{index}"))
        nodes.append(node("Add", f"d{index} one", "encoded_lengths" if index == 2 else f"l{index}"))
        last, length = f"y{index}", f"l{index}"
    inputs = [value("audio_signal", TensorProto.FLOAT, "b", BANDS, "t"), value("length", TensorProto.INT64, "b")]
    outputs = [value("outputs", TensorProto.FLOAT, "b", WIDTH, "frames"), value("encoded_lengths", TensorProto.INT64, "b")]
    save(path, nodes, inputs, outputs, [f"conv{index}" for index in range(3)], [("one", [1]), ("two", [2])])


def prediction(states, next_states):
    """An LSTM of two layers over the embedded tokens, `predicted` of shape [batch, tokens, hidden]."""
    nodes = [node("Gather", "embedding targets", "embedded"), node("Transpose", "embedded", "in0", perm=[1, 0, 2])]
    for name, state in zip("hc", states):
        nodes.append(node("Split", state, " ".join(f"{name}{layer}" for layer in range(LAYERS)), axis=0))
    for layer in range(LAYERS):
        inputs = f"in{layer} w{layer} r{layer} b{layer}".split() + ["", f"h{layer}", f"c{layer}"]
        nodes.append(helper.make_node("LSTM", inputs, [f"y{layer}", f"nh{layer}", f"nc{layer}"], hidden_size=HIDDEN))
        nodes.append(node("Squeeze", f"y{layer} axis1", f"in{layer + 1}"))
    for name, state in zip("hc", next_states):
        nodes.append(node("Concat", " ".join(f"n{name}{layer}" for layer in range(LAYERS)), state, axis=0))
    nodes.append(node("Transpose", f"in{LAYERS}", "predicted", perm=[1, 0, 2]))
    nodes.append(node("Identity", "target_length", "prednet_lengths"))
    names = ["embedding", *(f"{part}{layer}" for part in "wrb" for layer in range(LAYERS))]
    inputs = [value("targets", TensorProto.INT32, "b", "u"), value("target_length", TensorProto.INT32, "b")]
    inputs += [value(state, TensorProto.FLOAT, LAYERS, "b", HIDDEN) for state in states]
    outputs = [value("prednet_lengths", TensorProto.INT32, "b")]
    outputs += [value(state, TensorProto.FLOAT, LAYERS, "b", HIDDEN) for state in next_states]
    return nodes, inputs, outputs, names


def joint():
    """`outputs` of shape [batch, frames, tokens, logits]."""
    nodes = [
        node("Transpose", "encoder_outputs", "heard", perm=[0, 2, 1]),
        node("MatMul", "heard from_encoder", "e"),
        node("Unsqueeze", "e axis2", "e4"),
        node("MatMul", "predicted from_predictor", "p"),
        node("Unsqueeze", "p axis1", "p4"),
        node("Add", "e4 p4", "sum"),
        node("Relu", "sum", "inner"),
        node("MatMul", "inner logits", "scores"),
        node("Add", "scores bias", "outputs"),
    ]
    outputs = [value("outputs", TensorProto.FLOAT, "b", "t", "u", len(PIECES) + DURATIONS)]
    return nodes, [value("encoder_outputs", TensorProto.FLOAT, "b", WIDTH, "t")], outputs, ["from_encoder", "from_predictor", "logits", "bias"]


def decoder_joint(path):
    states, next_states = ["input_states_1", "input_states_2"], ["output_states_1", "output_states_2"]
    first, second = prediction(states, next_states), joint()
    nodes, names = first[0] + second[0], first[3] + second[3]
    save(path, nodes, second[1] + first[1], second[2] + first[2], names, [("axis1", [1]), ("axis2", [2])])


def decoder(path):
    nodes, inputs, outputs, names = prediction(["states.1", "onnx::Slice_3"], ["states", "162"])
    nodes.append(node("Transpose", "predicted", "outputs", perm=[0, 2, 1]))
    outputs.insert(0, value("outputs", TensorProto.FLOAT, "b", HIDDEN, "u"))
    save(path, nodes, inputs, outputs, names, [("axis1", [1])])


def joiner(path):
    nodes, inputs, outputs, names = joint()
    nodes.insert(0, node("Transpose", "decoder_outputs", "predicted", perm=[0, 2, 1]))
    inputs.append(value("decoder_outputs", TensorProto.FLOAT, "b", HIDDEN, "u"))
    save(path, nodes, inputs, outputs, names, [("axis1", [1]), ("axis2", [2])])


def audio(seconds):
    """A tone that rises and falls, with noise that is the same in every programming language."""
    samples, state = [], 7
    for index in range(int(seconds * RATE)):
        state = (state * 1664525 + 1013904223) % 2**32
        t = index / RATE
        samples.append(0.4 * math.sin(900 * math.sin(2 * t) + 1500 * t) + 0.1 * (state / 2**32 - 0.5))
    return np.array(samples, np.float32)


def features(samples):
    extractor = ParakeetFeatureExtractor(feature_size=BANDS)
    extracted = extractor(samples, sampling_rate=RATE, return_tensors="pt")
    values = extracted.input_features[0].numpy()
    length = int(extracted.attention_mask.sum())
    frames = [0, 1, 2, 50, length - 2, length - 1, length]
    return {"frames": frames, "length": length, "columns": len(values), "values": [[round(float(x), 6) for x in values[frame]] for frame in frames]}


def decoded(folder, samples, max_tokens_per_step):
    model = onnx_asr.load_model("nemo-conformer-tdt", folder)
    asr = model.asr
    asr.config = {**asr.config, "max_tokens_per_step": max_tokens_per_step}
    steps, decode = [], asr._decode

    def recorded(*arguments):
        logits, duration, state = decode(*arguments)
        steps.append((int(logits.argmax()), duration))
        return logits, duration, state

    asr._decode = recorded
    result = model.with_timestamps().recognize(samples, sample_rate=RATE)
    emitted = [step for step in steps if step[0] != BLANK]
    return {
        "tokens": [token for token, _ in emitted],
        "durations": [duration for _, duration in emitted],
        "timestamps": [round(time, 6) for time in result.timestamps],
    }


def main(root):
    joined, split = root / "joined", root / "split"
    for folder in (joined, split):
        folder.mkdir(parents=True, exist_ok=True)
    encoder(joined / "encoder-model.onnx")
    decoder_joint(joined / "decoder_joint-model.onnx")
    lines = "".join(f"{piece} {index}\n" for index, piece in enumerate(PIECES))
    (joined / "vocab.txt").write_text(lines)
    config = {"model_type": "nemo-conformer-tdt", "features_size": BANDS, "subsampling_factor": 8, "max_tokens_per_step": 3}
    (joined / "config.json").write_text(json.dumps(config) + "\n")
    encoder(split / "encoder.int8.onnx")
    decoder(split / "decoder.int8.onnx")
    joiner(split / "joiner.int8.onnx")
    (split / "tokens.txt").write_text(lines)
    samples = audio(8)
    reference = {
        "features": features(samples[: 3 * RATE + 37]),
        "three": decoded(joined, samples, 3),
        "ten": decoded(joined, samples, 10),
    }
    (root / "reference.json").write_text(json.dumps(reference) + "\n")


main(Path(sys.argv[1]))
