"""Writes libs/model-store/src/convert/ncnn/__fixtures__/tiny-flow.json: a tiny ncnn network with the layers of a RIFE flow
network (except its warp layer, which ncnn lacks), random weights in half precision, inputs and ncnn's outputs.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install ncnn==1.0.20261020 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/ncnn_layers.py > tiny-flow.json
"""

import base64
import json
import os
import struct
import sys
import tempfile

import ncnn
import numpy as np

LINES = [
    "Input in0 0 1 in0",
    "Input in1 0 1 in1",
    "Input in2 0 1 in2",
    "Concat joined 3 1 in0 in1 in2 joined",
    "Interp half 1 1 joined half 0=2 1=5.000000e-01 2=5.000000e-01",
    "Convolution strided 1 1 half strided 0=8 1=3 3=2 4=1 5=1 6=504 9=2 -23310=1,2.000000e-01",
    "Convolution plain 1 1 strided plain 0=8 1=3 4=1 5=1 6=576",
    "ReLU leaky 1 1 plain leaky 0=2.000000e-01",
    "Deconvolution wider 1 1 leaky wider 0=12 1=4 3=2 4=1 5=1 6=1536",
    "PixelShuffle shuffled 1 1 wider shuffled 0=2",
    "Split split_0 1 2 shuffled here there",
    "Crop front 1 1 here front -23309=1,0 -23310=1,2 -23311=1,0",
    "Split split_1 1 2 front front_a front_b",
    "Crop back 1 1 there back -23309=1,1 -23310=1,3 -23311=1,0",
    "BinaryOp product 2 1 front_a back product 0=2",
    "BinaryOp rest 1 1 product rest 0=7 1=1 2=1.000000e+00",
    "Eltwise summed 2 1 rest front_b summed 0=1 -23301=2,7.000000e-01,-3.000000e-01",
    "Sigmoid last 1 1 summed last",
]
COUNTS = [(504, 8), (576, 8), (1536, 12)]

random = np.random.default_rng(7)
weights = b""
for count, filters in COUNTS:
    kernel = random.uniform(-0.4, 0.4, count).astype(np.float16)
    padding = b"\0" * (-2 * count % 4)
    weights += struct.pack("<I", 0x01306B47) + kernel.tobytes() + padding
    weights += random.uniform(-0.4, 0.4, filters).astype(np.float32).tobytes()

blobs = {word for line in LINES for word in line.split()[4:] if "=" not in word}
param = "7767517\n%d %d\n%s\n" % (len(LINES), len(blobs), "\n".join(LINES))
frames = {name: random.uniform(0, 1, (channels, 16, 32)).astype(np.float32) for name, channels in (("in0", 3), ("in1", 3), ("in2", 1))}

with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "tiny.param"), "w") as file:
        file.write(param)
    with open(os.path.join(folder, "tiny.bin"), "wb") as file:
        file.write(weights)
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    net.load_param(os.path.join(folder, "tiny.param"))
    net.load_model(os.path.join(folder, "tiny.bin"))
    extractor = net.create_extractor()
    for name, frame in frames.items():
        extractor.input(name, ncnn.Mat(frame).clone())
    _, answer = extractor.extract("last")
    answer = np.array(answer)

encode = lambda array: base64.b64encode(array.astype(np.float32).tobytes()).decode()
json.dump(
    {
        "madeWith": "ncnn " + ncnn.__version__,
        "param": param,
        "weights": base64.b64encode(weights).decode(),
        "frames": {name: encode(frame) for name, frame in frames.items()},
        "shape": list(answer.shape),
        "answer": encode(answer),
    },
    sys.stdout,
)
print()
