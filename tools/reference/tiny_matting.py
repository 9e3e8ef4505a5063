"""Writes libs/inference/src/families/matting/__fixtures__: tiny matting networks as their exporters publish them, an image,
and the mattes that Pillow and PyTorch compute of it.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install torch==2.15.0 onnx==1.23.2 pillow==13.0.0 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/tiny_matting.py libs/inference/src/families/matting/__fixtures__
"""

import base64
import json
import pathlib
import sys

import numpy as np
import onnx
import PIL
import torch
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
random = np.random.default_rng(33)
first = (random.normal(0, 0.6, (4, 3, 3, 3)).astype(np.float32), random.normal(0, 0.2, 4).astype(np.float32))
last = (random.normal(0, 0.9, (1, 4, 1, 1)).astype(np.float32), np.array([0.1], np.float32))


def network(path, *, sides, sigmoid, half=False, ports=("input_image", "output_image"), side_outputs=0, smaller=1):
    """Two convolutions. `side_outputs` are other planes that stand before the matte; `smaller` shrinks the matte."""
    kind = np.float16 if half else np.float32
    element = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    weights = dict(zip(["w1", "b1", "w2", "b2"], [*first, *last]))
    nodes = [
        helper.make_node("Conv", [ports[0], "w1", "b1"], ["features"], pads=[1, 1, 1, 1], strides=[smaller, smaller]),
        helper.make_node("Relu", ["features"], ["active"]),
        helper.make_node("Conv", ["active", "w2", "b2"], ["logits" if sigmoid else ports[1]]),
    ]
    if sigmoid:
        nodes.append(helper.make_node("Sigmoid", ["logits"], [ports[1]]))
    names = [f"side{index}" for index in range(side_outputs)]
    # Half the size of the image, as the maps of deeper layers are.
    nodes += [helper.make_node("MaxPool", ["active"], [name], kernel_shape=[2, 2], strides=[2, 2]) for name in names]
    outputs = [helper.make_tensor_value_info(name, element, [1, 4, "h2", "w2"]) for name in names]
    small = [side // smaller if isinstance(side, int) else f"{side}_out" for side in sides]
    outputs.append(helper.make_tensor_value_info(ports[1], element, [1, 1, *small]))
    graph = helper.make_graph(
        nodes,
        "matting",
        [helper.make_tensor_value_info(ports[0], element, [1, 3, *sides])],
        outputs,
        [numpy_helper.from_array(value.astype(kind), name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def planes(image, width, height, resampling):
    """Resized in floats, so that no rounding of a pass is seen; sharp filters overshoot, and are cut to the range."""
    resized = [
        np.array(Image.fromarray(channel.astype(np.float32), mode="F").resize((width, height), FILTERS[resampling]))
        for channel in np.moveaxis(np.array(image), 2, 0)
    ]
    return np.clip(np.stack(resized), 0, 255)


def matte(image, *, size, mean, deviation, postprocess, sigmoid, resampling="bilinear", half=False, smaller=1):
    width, height = size
    center, spread = (np.array(value, np.float32).reshape(-1, 1, 1) for value in (mean, deviation))
    values = ((planes(image, width, height, resampling) / 255 - center) / spread).astype(np.float32)
    tensor = torch.from_numpy(values)[None]
    weights = [torch.from_numpy(value) for value in (*first, *last)]
    if half:
        tensor, weights = tensor.half().float(), [value.half().float() for value in weights]
    active = torch.relu(torch.nn.functional.conv2d(tensor, weights[0], weights[1], padding=1, stride=smaller))
    plane = torch.nn.functional.conv2d(active, weights[2], weights[3])[0, 0]
    if sigmoid or postprocess == "sigmoid":
        plane = torch.sigmoid(plane)
    if postprocess == "min-max":
        plane = (plane - plane.min()) / (plane.max() - plane.min())
    whole = np.array(Image.fromarray(plane.numpy(), mode="F").resize(image.size, FILTERS["bilinear"]))
    return np.round(np.clip(whole, 0, 1) * 255).astype(np.uint8)


folder = pathlib.Path(sys.argv[1])
rows, columns = np.mgrid[0:60, 0:84]
samples = np.stack([columns * 3, rows * 4, 255 - columns * 2], -1)
samples[(columns - 40) ** 2 + (rows - 30) ** 2 < 400] = [250, 40, 10]
samples[20:24, :] = 255
image = Image.fromarray(np.clip(samples + random.integers(-9, 10, samples.shape), 0, 255).astype(np.uint8))

text = lambda values: ",".join(map(str, values))
imagenet = {"mean": text(IMAGENET[0]), "deviation": text(IMAGENET[1])}
cases = []


def case(name, *, options, graph, reference):
    network(folder / f"{name}.onnx", **graph)
    alpha = matte(image, **reference)
    cases.append({"name": name, "familyOptions": options, "alpha": base64.b64encode(alpha.tobytes()).decode()})


# BiRefNet: logits of images of one size; also in half floats from end to end.
fixed = {"width": 48, "height": 48, **imagenet, "postprocess": "sigmoid"}
logits = {"size": (48, 48), "mean": IMAGENET[0], "deviation": IMAGENET[1], "postprocess": "sigmoid", "sigmoid": False}
case("birefnet", options=fixed, graph={"sides": [48, 48], "sigmoid": False}, reference=logits)
case("birefnet-half", options=fixed, graph={"sides": [48, 48], "sigmoid": False, "half": True}, reference={**logits, "half": True})
# RMBG 2.0: the matte itself.
ready = {"size": (48, 48), "mean": IMAGENET[0], "deviation": IMAGENET[1], "postprocess": "none", "sigmoid": True}
case("rmbg-2", options={**fixed, "postprocess": "none"}, graph={"sides": [48, 48], "sigmoid": True, "ports": ("pixel_values", "alphas")}, reference=ready)
# RMBG 1.4 and ISNet: stretched, beside other outputs.
wide = {"width": 64, "height": 48, "mean": 0.5, "deviation": 1, "postprocess": "min-max", "output": "matte"}
case(
    "isnet",
    options=wide,
    graph={"sides": [48, 64], "sigmoid": True, "ports": ("input", "matte"), "side_outputs": 2},
    reference={"size": (64, 48), "mean": [0.5] * 3, "deviation": [1] * 3, "postprocess": "min-max", "sigmoid": True},
)
# InSPyReNet and MODNet: the size of the image within bounds; here with a sharp filter, and a matte of half the size.
scaled = {"shortSide": 40, "multipleOf": 8, "mean": 0.5, "deviation": 0.5, "resampling": "bicubic", "postprocess": "none"}
case(
    "scaled",
    options=scaled,
    graph={"sides": ["height", "width"], "sigmoid": True, "smaller": 2},
    reference={"size": (56, 40), "mean": [0.5] * 3, "deviation": [0.5] * 3, "postprocess": "none", "sigmoid": True, "resampling": "bicubic", "smaller": 2},
)
content = {
    "madeWith": f"PyTorch {torch.__version__}, Pillow {PIL.__version__}",
    "image": {"width": image.width, "height": image.height, "data": base64.b64encode(image.tobytes()).decode()},
    "cases": cases,
}
(folder / "matting.json").write_text(json.dumps(content, indent=1) + "\n")
