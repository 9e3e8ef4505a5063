"""Makes the exported networks smaller in the npm package: fewer levels for weights that images do not depend on much.

The file formats stay. The denoiser keeps one byte per weight, which the compression of the package then stores in fewer bits.
The step of each of its matrices follows from how much the guided output changes when that matrix alone is rounded to steps of
8. The autoencoder gets 8 bits with a scale per output channel."""

import argparse
import json
import math
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from diffusers import DPMSolverMultistepScheduler
from export import coded, narrow
from onnx import numpy_helper
from prompts import PROMPTS
from text import MiniLM, load_wordpiece, wordpieces

GUIDANCE, STEPS = 4.0, 20
# Steps of the denoising at which the change is measured, of prompts of the sheet.
MEASURED_STEPS, MEASURED_PROMPTS = (2, 7, 12, 17), 12
PROBE_STEP = 8
# A step below this one costs accuracy and saves next to nothing.
MIN_STEP, MAX_STEP = 1.5, 16.0


def states_of(texts, minilm):
    """Token states of the empty prompt for each text, then of each text: [2 n, words, 384]."""
    tokenizer, encoder = load_wordpiece(f"{minilm}/tokenizer.json"), MiniLM(f"{minilm}/model.fp16.safetensors").eval()

    def encode(text):
        with torch.inference_mode():
            return encoder(torch.tensor([[101, *wordpieces(tokenizer, text), 102]])).numpy()[0]

    rows = [encode("")] * len(texts) + [encode(text) for text in texts]
    states = np.zeros((len(rows), max(map(len, rows)), 384), np.float32)
    for at, row in enumerate(rows):
        states[at, : len(row)] = row
    return states


def run(session, *values):
    return session.run(None, dict(zip([each.name for each in session.get_inputs()], values)))[0]


def guided(session, latents, moment, states):
    both = np.concatenate([latents, latents]).astype(np.float32)
    without, prompted = np.split(run(session, both, np.array([moment], np.float32), states), 2)
    return without + GUIDANCE * (prompted - without)


def trajectory(session, config, states, seed):
    """Latents and moments of the measured steps."""
    scheduler = DPMSolverMultistepScheduler.from_config(config)
    scheduler.set_timesteps(STEPS)
    shape = (len(states) // 2, session.get_inputs()[0].shape[1], 16, 16)
    latents = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    inputs = []
    for at, moment in enumerate(scheduler.timesteps):
        if at in MEASURED_STEPS:
            inputs.append((latents.numpy().copy(), float(moment)))
        velocity = torch.from_numpy(guided(session, latents.numpy(), float(moment), states))
        latents = scheduler.step(velocity, moment, latents).prev_sample
    return inputs


def code_tensors(model):
    return [tensor for tensor in model.graph.initializer if tensor.name.endswith("_codes")]


def sensitivities(path, config, states, seed):
    """Mean squared change of the guided output, by the name of the rounded matrix."""
    model, session = onnx.load(path), onnxruntime.InferenceSession(path)
    inputs = trajectory(session, config, states, seed)
    expected = [guided(session, *each, states) for each in inputs]
    found = {}
    for tensor in code_tensors(model):
        original = tensor.SerializeToString()
        codes = numpy_helper.to_array(tensor)
        rounded = (np.rint(codes / PROBE_STEP) * PROBE_STEP).clip(-128, 127).astype(np.int8)
        tensor.CopyFrom(numpy_helper.from_array(rounded, tensor.name))
        probe = onnxruntime.InferenceSession(model.SerializeToString())
        changes = [((guided(probe, *each, states) - right) ** 2).mean() for each, right in zip(inputs, expected)]
        found[tensor.name] = float(np.mean(changes))
        tensor.ParseFromString(original)
    return found


def coarsen(path, changes, strength):
    """Steps that change the output least for their bits: the square of each is in proportion to weights per change."""
    model = onnx.load(path)
    scales = {tensor.name: tensor for tensor in model.graph.initializer if tensor.name.endswith("_scale")}
    for tensor in code_tensors(model):
        codes, scale = numpy_helper.to_array(tensor), scales[tensor.name.replace("_codes", "_scale")]
        step = min(MAX_STEP, PROBE_STEP * math.sqrt(strength * codes.size / changes[tensor.name]))
        if step < MIN_STEP:
            continue
        rounded, old = np.rint(codes / step), numpy_helper.to_array(scale)
        axes = tuple(axis for axis, size in enumerate(old.shape) if size == 1)
        # The scale with the least squared error.
        squares = (rounded**2).sum(axes, keepdims=True)
        ratio = np.where(squares > 0, (codes * rounded).sum(axes, keepdims=True) / np.maximum(squares, 1), step)
        tensor.CopyFrom(numpy_helper.from_array(rounded.astype(np.int8), tensor.name))
        scale.CopyFrom(numpy_helper.from_array((old * ratio).astype(np.float32), scale.name))
    return model


def widen_halves(model):
    """Undoes the half precision of export.py: the casts become tensors again."""
    graph = model.graph
    halves = {tensor.name: tensor for tensor in graph.initializer if tensor.name.endswith("_half")}
    for node in [node for node in graph.node if node.op_type == "Cast" and node.input[0] in halves]:
        tensor = halves[node.input[0]]
        values = numpy_helper.to_array(tensor).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        graph.initializer.remove(tensor)
        graph.node.remove(node)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/pictogram", help="folder that export.py wrote; it is rewritten")
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--strength", type=float, default=1.6e-10, help="larger is smaller and coarser")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folder = Path(args.model)
    texts = [text for text, _ in PROMPTS][1::5][:MEASURED_PROMPTS]
    config = json.loads((folder / "scheduler/scheduler_config.json").read_text())
    unet = str(folder / "unet/model.onnx")
    changes = sensitivities(unet, config, states_of(texts, args.minilm), args.seed)
    models = {"unet": coarsen(unet, changes, args.strength)}
    for part in ("vae_decoder", "vae_encoder"):
        models[part] = narrow(widen_halves(onnx.load(folder / part / "model.onnx")), coded)
    for part, model in models.items():
        onnx.checker.check_model(model)
        onnx.save(model, folder / part / "model.onnx")
        content = model.SerializeToString()
        print(f"{part}: {len(content)} bytes, {len(zlib.compress(content, 9))} compressed")


if __name__ == "__main__":
    main()
