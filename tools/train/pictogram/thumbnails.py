"""Writes what a test of the product finds the nearest drawing with: drawings.webp, all drawings at 16 x 16 pixels in rows of
54, and drawings.json, the name of the thing on each."""

import argparse
import json

import numpy as np
import torch.nn.functional as F
from captions import clean
from common import load_icons
from PIL import Image

SIDE, COLUMNS = 16, 54


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="folder of both files")
    parser.add_argument("--data", default="data")
    args = parser.parse_args()
    images, icons = load_icons(args.data)
    small = F.interpolate(images.float(), size=SIDE, mode="area").round().byte().permute(0, 2, 3, 1).numpy()
    rows = -(-len(small) // COLUMNS)
    sheet = np.full((rows * SIDE, COLUMNS * SIDE, 3), 255, dtype=np.uint8)
    for at, image in enumerate(small):
        y, x = at // COLUMNS * SIDE, at % COLUMNS * SIDE
        sheet[y : y + SIDE, x : x + SIDE] = image
    Image.fromarray(sheet).save(f"{args.out}/drawings.webp", quality=90, method=6)
    with open(f"{args.out}/drawings.json", "w") as file:
        json.dump([clean(icon["name"]) for icon in icons], file)
        file.write("\n")


if __name__ == "__main__":
    main()
