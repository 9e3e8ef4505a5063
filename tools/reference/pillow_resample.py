"""Writes libs/inference/src/images/__fixtures__/resample.json: a small image that Pillow resized with three filters.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install pillow==11.3.0 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/pillow_resample.py > resample.json
"""

import base64
import json
import sys

import numpy as np
import PIL
from PIL import Image

source = np.random.default_rng(14).integers(0, 256, (19, 23, 3)).astype(np.uint8)
# Black beside white: filters with negative weights overshoot here.
source[5:9, 4:12] = 255
source[9:12, 4:12] = 0
image = Image.fromarray(source)
encode = lambda pixels: base64.b64encode(np.array(pixels).tobytes()).decode()
cases = []
for name in ["BILINEAR", "BICUBIC", "LANCZOS"]:
    for width, height in [(23, 19), (23, 8), (7, 19), (11, 9), (32, 41), (5, 40), (40, 3), (1, 1)]:
        resized = image.resize((width, height), Image.Resampling[name])
        cases.append({"filter": name.lower(), "width": width, "height": height, "data": encode(resized)})
json.dump({"madeWith": "Pillow " + PIL.__version__, "source": {"width": 23, "height": 19, "data": encode(image)}, "cases": cases}, sys.stdout, indent=1)
print()
