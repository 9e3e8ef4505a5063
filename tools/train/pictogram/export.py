"""Writes the networks in the diffusers ONNX layout, as models/pictogram has it: the denoiser in 8 bits, the autoencoder in
half precision.

The networks know one square of 16 x 16 latents (128 pixels). The graphs take any size: they use the upper left square, and
the decoder stretches it to the shorter side, with white beside it. The product builds the text encoder itself."""

import argparse
import json
import os
import shutil

import numpy as np
import onnx
import torch
import torch.nn as nn
from models import Decoder, Encoder, UNet
from onnx import TensorProto, helper, numpy_helper
from schedule import BETA_END, BETA_START, TRAIN_STEPS

SIDE = 16
STRIDE = 8
# Weights of fewer elements stay as they are.
NARROWED_ELEMENTS = 1024


class Encode(nn.Module):
    """Images [1, 3, 128, 128] in -1..1 -> latents with mean 0 and deviation 1."""

    def __init__(self, e, mean, std):
        super().__init__()
        self.e = e
        self.register_buffer("mean", mean[:, None, None])
        self.register_buffer("std", std[:, None, None])

    def forward(self, sample):
        return (self.e(sample) - self.mean) / self.std


class Decode(nn.Module):
    def __init__(self, decoder, mean, std):
        super().__init__()
        self.decoder = decoder
        self.register_buffer("mean", mean[:, None, None])
        self.register_buffer("std", std[:, None, None])

    def forward(self, latent_sample):
        return self.decoder(latent_sample * self.std + self.mean)


def export(model, inputs, path, *, names, output, axes):
    with torch.inference_mode():
        torch.onnx.export(
            model.eval(),
            inputs,
            path,
            input_names=names,
            output_names=[output],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    return onnx.load(path)


def halved(name, values):
    """Half precision, widened when the graph is loaded."""
    stored = numpy_helper.from_array(values.astype(np.float16), name + "_half")
    return [stored], [helper.make_node("Cast", [stored.name], [name], to=TensorProto.FLOAT)]


def coded(name, values):
    """8 bits with a scale per output channel; vectors and tables keep half precision."""
    if values.ndim not in (2, 4) or values.shape[0] == 1:
        return halved(name, values)
    # The output channels of a product of matrices are its columns.
    axes = (0,) if "MatMul" in name else tuple(range(1, values.ndim))
    scale = np.abs(values).max(axes, keepdims=True) / 127
    scale[scale == 0] = 1
    codes = numpy_helper.from_array(np.rint(values / scale).astype(np.int8), name + "_codes")
    scales = numpy_helper.from_array(scale.astype(np.float32), name + "_scale")
    return [codes, scales], [
        helper.make_node("Cast", [codes.name], [name + "_wide"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [name + "_wide", scales.name], [name]),
    ]


def narrow(model, form):
    graph = model.graph
    kept, nodes = [], []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < NARROWED_ELEMENTS:
            kept.append(tensor)
            continue
        tensors, widening = form(tensor.name, numpy_helper.to_array(tensor))
        kept += tensors
        nodes += widening
    nodes += graph.node
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    return model


def rename(graph, old, new):
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]


def surround(model, before, after, constants):
    graph = model.graph
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    for name, values in constants.items():
        dtype = np.float32 if isinstance(values, float) else np.int64
        graph.initializer.append(numpy_helper.from_array(np.array(values, dtype=dtype), name))


CROP = {"crop_from": [0, 0], "crop_to": [SIDE, SIDE], "crop_axes": [2, 3]}


def crop(source, target):
    return [helper.make_node("Slice", [source, "crop_from", "crop_to", "crop_axes"], [target])]


def name_sizes(value, sizes):
    for axis, name in sizes.items():
        dimension = value.type.tensor_type.shape.dim[axis]
        dimension.Clear()
        dimension.dim_param = name


def wrap_denoiser(model):
    """sample [n, c, h, w] of any size from 16: the answer for the square, and 0 beside it."""
    graph = model.graph
    rename(graph, "sample", "core_sample")
    rename(graph, "out_sample", "core_out")
    after = [
        helper.make_node("Shape", ["sample"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "two", "four"], ["plane"]),
        helper.make_node("Sub", ["plane", "side"], ["beside"]),
        helper.make_node("Concat", ["zeros", "beside"], ["pads"], axis=0),
        helper.make_node("Pad", ["core_out", "pads", "zero"], ["out_sample"]),
    ]
    constants = {**CROP, "zeros": [0] * 6, "two": [2], "four": [4], "side": [SIDE, SIDE], "zero": 0.0}
    surround(model, crop("sample", "core_sample"), after, constants)
    for value in (graph.input[0], graph.output[0]):
        name_sizes(value, {0: "batch", 2: "height", 3: "width"})
    return model


def wrap_decoder(model):
    """latent_sample [1, c, h, w] -> sample [1, 3, 8 h, 8 w]: the square in the middle, white beside it."""
    graph = model.graph
    rename(graph, "latent_sample", "core_latent")
    rename(graph, "sample", "core_sample")
    cubic = {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.5}
    after = [
        helper.make_node("Shape", ["latent_sample"], ["sizes"]),
        helper.make_node("Slice", ["sizes", "two", "four"], ["plane"]),
        helper.make_node("Mul", ["plane", "stride"], ["wanted"]),
        helper.make_node("ReduceMin", ["wanted"], ["shorter"], axes=[0], keepdims=1),
        helper.make_node("Concat", ["image", "shorter", "shorter"], ["square"], axis=0),
        helper.make_node("Resize", ["core_sample", "", "", "square"], ["stretched"], **cubic),
        helper.make_node("Clip", ["stretched", "low", "white"], ["clipped"]),
        helper.make_node("Sub", ["wanted", "shorter"], ["spare"]),
        helper.make_node("Div", ["spare", "half"], ["first"]),
        helper.make_node("Sub", ["spare", "first"], ["last"]),
        helper.make_node("Concat", ["zeros", "first", "zeros", "last"], ["pads"], axis=0),
        helper.make_node("Pad", ["clipped", "pads", "white"], ["sample"]),
    ]
    sizes = {"two": [2], "four": [4], "stride": [STRIDE], "image": [1, 3], "half": [2], "zeros": [0, 0]}
    surround(model, crop("latent_sample", "core_latent"), after, {**CROP, **sizes, "white": 1.0, "low": -1.0})
    name_sizes(graph.input[0], {2: "height", 3: "width"})
    name_sizes(graph.output[0], {2: "image_height", 3: "image_width"})
    return model


def write(model, folder):
    os.makedirs(folder, exist_ok=True)
    onnx.checker.check_model(model)
    onnx.save(model, f"{folder}/model.onnx")


def write_json(path, **values):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(values, file, indent=2)
        file.write("\n")


def load(network, weights):
    network.load_state_dict({name: value.float() for name, value in weights.items()})
    return network


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="run")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    unet = torch.load(f"{args.run}/unet.pt", map_location="cpu", weights_only=False)
    autoencoder = torch.load(f"{args.run}/ae.pt", map_location="cpu")
    channels, scratch = unet["channels"], f"{args.run}/core.onnx"

    widths = [int(width) for width in unet["widths"].split(",")]
    inputs = (torch.randn(2, channels, SIDE, SIDE), torch.tensor([500.0]), torch.randn(2, 33, 384))
    names = ["sample", "timestep", "encoder_hidden_states"]
    axes = {"sample": {0: "batch"}, "encoder_hidden_states": {0: "batch", 1: "words"}, "out_sample": {0: "batch"}}
    network = load(UNet(channels, widths, depth=unet["depth"]), unet["ema"])
    denoiser = export(network, inputs, scratch, names=names, output="out_sample", axes=axes)
    write(wrap_denoiser(narrow(denoiser, coded)), f"{args.out}/unet")

    network = Decode(load(Decoder(channels), autoencoder["dec"]), unet["mean"], unet["std"])
    latents = (torch.randn(1, channels, SIDE, SIDE),)
    decoder = export(network, latents, scratch, names=["latent_sample"], output="sample", axes={})
    write(wrap_decoder(narrow(decoder, halved)), f"{args.out}/vae_decoder")

    network = Encode(load(Encoder(channels), autoencoder["enc"]), unet["mean"], unet["std"])
    images = (torch.randn(1, 3, SIDE * STRIDE, SIDE * STRIDE),)
    encoder = export(network, images, scratch, names=["sample"], output="latent_sample", axes={})
    write(narrow(encoder, halved), f"{args.out}/vae_encoder")
    os.remove(scratch)

    write_json(f"{args.out}/model_index.json", _class_name="StableDiffusionPipeline", force_zeros_for_empty_prompt=False)
    sizes = {"in_channels": channels, "out_channels": channels, "sample_size": SIDE, "cross_attention_dim": 384}
    write_json(f"{args.out}/unet/config.json", **sizes)
    # One channel more than the halvings of the size.
    blocks = [64] * STRIDE.bit_length()
    write_json(
        f"{args.out}/vae_decoder/config.json", scaling_factor=1.0, latent_channels=channels, block_out_channels=blocks
    )
    write_json(
        f"{args.out}/scheduler/scheduler_config.json",
        _class_name="DPMSolverMultistepScheduler",
        beta_start=BETA_START,
        beta_end=BETA_END,
        beta_schedule="scaled_linear",
        num_train_timesteps=TRAIN_STEPS,
        prediction_type="v_prediction",
        timestep_spacing="trailing",
    )
    os.makedirs(f"{args.out}/tokenizer", exist_ok=True)
    shutil.copy(f"{args.run}/words.txt", f"{args.out}/tokenizer/words.txt")


if __name__ == "__main__":
    main()
