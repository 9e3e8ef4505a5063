"""Draws prompts with the trained networks: python sample.py OUT.png --run run --minilm FOLDER ["prompt" ...]"""

import argparse

import numpy as np
import torch
from models import Decoder, UNet
from PIL import Image, ImageDraw
from prompts import PROMPTS
from schedule import dpm_solver
from text import WORDS, MiniLM, load_wordpiece, wordpieces


class Painter:
    def __init__(self, run, minilm):
        unet = torch.load(f"{run}/unet.pt", map_location="cpu", weights_only=False)
        autoencoder = torch.load(f"{run}/ae.pt", map_location="cpu")
        widths = [int(width) for width in unet["widths"].split(",")]
        self.channels, self.step = unet["channels"], unet["step"]
        self.unet = UNet(self.channels, widths, depth=unet["depth"]).eval()
        self.unet.load_state_dict({name: value.float() for name, value in unet["ema"].items()})
        self.decoder = Decoder(self.channels).eval()
        self.decoder.load_state_dict({name: value.float() for name, value in autoencoder["dec"].items()})
        self.mean, self.std = unet["mean"][:, None, None], unet["std"][:, None, None]
        self.tokenizer = load_wordpiece(f"{minilm}/tokenizer.json")
        self.encoder = MiniLM(f"{minilm}/model.fp16.safetensors").eval()

    def encode(self, texts):
        pieces = [[101, *wordpieces(self.tokenizer, text)[: WORDS - 2], 102] for text in texts]
        ids = torch.zeros(len(texts), max(map(len, pieces)), dtype=torch.long)
        for row, each in enumerate(pieces):
            ids[row, : len(each)] = torch.tensor(each)
        return self.encoder(ids)

    @torch.inference_mode()
    def paint(self, texts, seed=0, guidance=4.0, steps=20):
        """Returns images [n, 3, 128, 128] in -1..1."""
        states = self.encode(["", *texts])
        states = torch.cat([states[:1].expand(len(texts), -1, -1), states[1:]])
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(texts), self.channels, 16, 16, generator=generator)

        def predict(latents, moment):
            both = self.unet(torch.cat([latents, latents]), torch.tensor([float(moment)]), states)
            without, prompted = both.chunk(2)
            return without + guidance * (prompted - without)

        latents = dpm_solver(predict, noise, steps)
        return self.decoder(latents * self.std + self.mean).clamp(-1, 1)


def sheet(images, path, labels, columns=8):
    """Writes images in rows, each with its label."""
    arrays = ((images.permute(0, 2, 3, 1).numpy() + 1) * 127.5).round().astype(np.uint8)
    side, foot = arrays.shape[1], 14
    rows = -(-len(arrays) // columns)
    out = Image.new("RGB", (columns * (side + 4), rows * (side + foot + 4)), "white")
    pen = ImageDraw.Draw(out)
    for at, (array, label) in enumerate(zip(arrays, labels)):
        x, y = (at % columns) * (side + 4), (at // columns) * (side + foot + 4)
        out.paste(Image.fromarray(array), (x, y))
        pen.text((x + 2, y + side), label[:22], fill="black")
    out.save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("prompts", nargs="*", help="default: those of prompts.py")
    parser.add_argument("--run", default="run")
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--guidance", type=float, default=4.0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    texts = args.prompts or [text for text, _ in PROMPTS]
    painter = Painter(args.run, args.minilm)
    sheet(painter.paint(texts, args.seed, args.guidance, args.steps), args.out, texts)
    print(f"after {painter.step} steps")


if __name__ == "__main__":
    main()
