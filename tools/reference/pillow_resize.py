"""Writes libs/inference/src/images/__fixtures__/resize.json: a small image that Pillow resized to smaller and larger sizes.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install pillow==13.0.0 numpy==2.4.6
    /tmp/reference/bin/python tools/reference/pillow_resize.py > resize.json
"""

import json
import sys

import numpy as np
import PIL
from PIL import Image

source = np.random.default_rng(3).uniform(0, 255, (10, 13)).astype(np.float32)
image = Image.fromarray(source, mode="F")
cases = []
for width, height in [(13, 10), (5, 4), (30, 17), (7, 22), (1, 1), (13, 3)]:
    resized = np.array(image.resize((width, height), Image.Resampling.BILINEAR))
    cases.append({"width": width, "height": height, "data": [round(float(value), 4) for value in resized.ravel()]})
data = [round(float(value), 4) for value in source.ravel()]
json.dump({"madeWith": "Pillow " + PIL.__version__, "source": {"width": 13, "height": 10, "data": data}, "cases": cases}, sys.stdout)
print()
