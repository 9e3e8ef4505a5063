"""Writes libs/model-store/src/convert/ncnn/__fixtures__/tiny-upscalers.json: two tiny ncnn networks with the layers of
Real-ESRGAN (residual dense blocks by 4, and the compact network by 2), random weights in half precision, an image and
ncnn's outputs.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install ncnn==1.0.20261020 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/ncnn_upscalers.py > tiny-upscalers.json
"""

import base64
import json
import os
import struct
import sys
import tempfile

import ncnn
import numpy as np

LEAKY = "9=2 -23310=1,2.000000e-01"
# Sizes of weights in the order of the layers: a convolution has a tagged kernel and a bias, a PReLU slopes alone.
NETWORKS = {
    "dense": (
        [
            "Input input.1 0 1 data",
            "Convolution first 1 1 data first 0=8 1=3 4=1 5=1 6=216",
            "Split split_0 1 3 first first_a first_b first_c",
            f"Convolution grown 1 1 first_a grown 0=4 1=3 4=1 5=1 6=288 {LEAKY}",
            "Concat joined 2 1 first_b grown joined",
            "Convolution shrunk 1 1 joined shrunk 0=8 1=3 4=1 5=1 6=864",
            "Eltwise residual 2 1 shrunk first_c residual 0=1 -23301=2,2.000000e-01,1.000000e+00",
            "Interp twice 1 1 residual twice 0=1 1=2.000000e+00 2=2.000000e+00",
            f"Convolution smooth 1 1 twice smooth 0=8 1=3 4=1 5=1 6=576 {LEAKY}",
            "Interp again 1 1 smooth again 0=1 1=2.000000e+00 2=2.000000e+00",
            "Convolution last 1 1 again output 0=3 1=3 4=1 5=1 6=216",
        ],
        [(216, 8), (288, 4), (864, 8), (576, 8), (216, 3)],
    ),
    "compact": (
        [
            "Input input.1 0 1 data",
            "Split split_0 1 2 data data_a data_b",
            "Convolution first 1 1 data_a first 0=8 1=3 4=1 5=1 6=216",
            "PReLU bent 1 1 first bent 0=8",
            "Convolution second 1 1 bent second 0=48 1=3 4=1 5=1 6=3456",
            "PixelShuffle shuffled 1 1 second shuffled 0=4",
            "Interp larger 1 1 data_b larger 0=1 1=4.000000e+00 2=4.000000e+00",
            "BinaryOp summed 2 1 shuffled larger summed",
            "Interp halved 1 1 summed output 0=3 1=5.000000e-01 2=5.000000e-01",
        ],
        [(216, 8), (0, 8), (3456, 48)],
    ),
}

random = np.random.default_rng(11)
image = random.uniform(0, 1, (3, 10, 14)).astype(np.float32)


def weights_of(counts):
    weights = b""
    for count, filters in counts:
        if count > 0:
            kernel = random.uniform(-0.15, 0.15, count).astype(np.float16)
            weights += struct.pack("<I", 0x01306B47) + kernel.tobytes() + b"\0" * (-2 * count % 4)
        weights += random.uniform(0, 0.2, filters).astype(np.float32).tobytes()
    return weights


def run(param, weights):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("tiny.param", "tiny.bin")]
        with open(paths[0], "w") as file:
            file.write(param)
        with open(paths[1], "wb") as file:
            file.write(weights)
        net = ncnn.Net()
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = False
        net.load_param(paths[0])
        net.load_model(paths[1])
        extractor = net.create_extractor()
        extractor.input("data", ncnn.Mat(image).clone())
        return np.array(extractor.extract("output")[1])


def encode(array):
    return base64.b64encode(array.astype(np.float32).tobytes()).decode()


networks = {}
for name, (lines, counts) in NETWORKS.items():
    blobs = {word for line in lines for word in line.split()[4:] if "=" not in word}
    param = "7767517\n%d %d\n%s\n" % (len(lines), len(blobs), "\n".join(lines))
    weights = weights_of(counts)
    answer = run(param, weights)
    encoded = base64.b64encode(weights).decode()
    # The graph ends at what an image can hold.
    networks[name] = {"param": param, "weights": encoded, "shape": list(answer.shape), "answer": encode(answer.clip(0, 1))}

json.dump({"madeWith": "ncnn " + ncnn.__version__, "image": encode(image), "networks": networks}, sys.stdout)
print()
