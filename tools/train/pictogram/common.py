import json
import math
import os
import time
import numpy as np
import torch


def load_icons(folder="data", styles=None):
    meta = json.load(open(os.path.join(folder, "meta.json")))
    side, icons = meta["size"], meta["icons"]
    pixels = np.fromfile(os.path.join(folder, "pixels.bin"), dtype=np.uint8).reshape(len(icons), side, side, 3)
    keep = [i for i, icon in enumerate(icons) if styles is None or icon["style"] in styles]
    return torch.from_numpy(pixels[keep]).permute(0, 3, 1, 2).contiguous(), [icons[i] for i in keep]


def hue_matrix(angle: torch.Tensor) -> torch.Tensor:
    """[n, 3, 3]: turns the colours around the grey axis; white and greys stay."""
    c, s = angle.cos(), angle.sin()
    third, root = 1 / 3, math.sqrt(1 / 3)
    one = torch.ones_like(c)
    near = c + (1 - c) * third
    a, b = (1 - c) * third - s * root, (1 - c) * third + s * root
    return torch.stack([near, a, b, b, near, a, a, b, near], -1).view(*angle.shape, 3, 3) * one[..., None, None]


def turn_hue(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """x in -1..1, [n, 3, h, w]."""
    return torch.einsum("nij,njhw->nihw", hue_matrix(angle).to(x), x).clamp(-1, 1)


class Budget:
    """A share of the way from 0 to 1 by wall time (minutes, over all resumed runs) or by steps."""

    def __init__(self, minutes, steps, before=0.0):
        self.minutes, self.steps, self.before, self.start = minutes, steps, before, time.time()

    def seconds(self):
        return self.before + time.time() - self.start

    def share(self, step):
        return min(1.0, step / self.steps if self.steps else self.seconds() / 60 / self.minutes)


def learning_rate(share, peak, step, warm=100):
    return peak * min(1.0, step / warm) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * share)))


def device_of(name=None):
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def save(path, **parts):
    torch.save(parts, path + ".tmp")
    os.replace(path + ".tmp", path)
