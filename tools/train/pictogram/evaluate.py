"""Prints the figures of the model card as JSON, and writes the sheet of prompts.py.

known_names: is the thing that was asked for among the nearest original drawings, at 32 x 32 pixels? Near-twins (captions.py),
which the training leaves out, are not asked for, but are among the drawings. nearest: how far is the
nearest picture of the training, against how far these are from each other? free: is a drawing that other words may mean
among the nearest five? colour: is the main colour the one asked for, in 100 pairs of colour and thing? held_out_colour: the
same in pairs that no picture of the training shows. The prompts of `free` and `colour` are in figures.json, which a test of
the product shares."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from captions import HELD_OUT, clean, main_colour
from prompts import PROMPTS
from sample import Painter, sheet


def small(images):
    """Pictures of 0..1 -> [n, 3 * 32 * 32]."""
    return F.interpolate(images.float(), size=32, mode="area").flatten(1)


def distances(left, right):
    """Root mean squared difference of each pair."""
    return torch.cdist(left, right) / left.shape[1] ** 0.5


def paint(painter, texts, options):
    made = [painter.paint(texts[at : at + 64], at, **options) for at in range(0, len(texts), 64)]
    return (torch.cat(made) + 1) / 2


def nearest(images, train, own):
    near = distances(small(images), train).min(1).values
    among = distances(own, own).fill_diagonal_(9).min(1).values
    return {
        "mean": near.mean().item(),
        "share_below_0.03": (near < 0.03).float().mean().item(),
        "share_below_0.06": (near < 0.06).float().mean().item(),
        "train_to_train_mean": among.mean().item(),
    }


def free_words(painter, icons, own, prompts, options):
    order = distances(small(paint(painter, [each["prompt"] for each in prompts], options)), own).argsort(1)[:, :5]
    hits = [
        [bool(set(clean(icons[at]["name"]).split()) & set(each["names"])) for at in row]
        for row, each in zip(order.tolist(), prompts)
    ]
    figures = {"top1": np.mean([row[0] for row in hits]), "top5": np.mean([any(row) for row in hits])}
    return {"count": len(hits), **{name: float(value) for name, value in figures.items()}}


def known_names(painter, icons, own, *, taught, count, options, with_style):
    rng = np.random.default_rng(7)
    by_code = {}
    for at, icon in enumerate(icons):
        if taught[at]:
            by_code.setdefault(icon["code"], []).append(at)
    wanted = rng.choice(sorted(by_code), min(count, len(by_code)), replace=False)
    asked = [icons[rng.choice(by_code[code])] for code in wanted]
    texts = [clean(icon["name"]) + (f", {icon['style']} style" if with_style else "") for icon in asked]
    order = distances(small(paint(painter, texts, options)), own).argsort(1)[:, :10].tolist()

    def share(among):
        return float(np.mean([any(icons[at]["code"] == code for at in row[:among]) for row, code in zip(order, wanted)]))

    figures = {"count": len(texts), "top1": share(1), "top5": share(5), "top10": share(10)}
    if with_style:
        figures["style"] = float(np.mean([icons[row[0]]["style"] == icon["style"] for row, icon in zip(order, asked)]))
    return figures


def colour_obeyed(painter, texts, options):
    """Of prompts whose second word is a colour."""
    arrays = (paint(painter, texts, options) * 255).round().byte().numpy()
    return float(np.mean([main_colour(image)[0] == text.split()[1] for image, text in zip(arrays, texts)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="run")
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--names", type=int, default=192, help="known names that are asked for")
    parser.add_argument("--guidance", type=float, default=4.0)
    parser.add_argument("--steps", type=int, default=20, help="of each image")
    parser.add_argument("--sheet", default="sheet.png")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    painter = Painter(args.run, args.minilm)
    cache = torch.load(f"{args.run}/cache.pt", weights_only=False)
    pictures, icons = cache["pictures"], cache["icons"]
    train = torch.cat([small(pictures[at : at + 256].float() / 255) for at in range(0, len(pictures), 256)])
    own = train[torch.tensor(cache["kinds"]) == 0]
    texts = [text for text, _ in PROMPTS]
    prompts = json.loads((Path(__file__).parent / "figures.json").read_text())
    held_out = [f"a {colour} {thing}" for colour, thing in sorted(HELD_OUT) for _ in range(4)]
    with torch.inference_mode():
        options = {"guidance": args.guidance, "steps": args.steps}
        images = paint(painter, texts, options)
        sheet(images * 2 - 1, args.sheet, texts)
        taught = [not twin for twin in cache["twins"]]
        names = {"taught": taught, "count": args.names, "options": options}
        figures = {
            "step": painter.step,
            "guidance": args.guidance,
            "nearest": nearest(images, train, own),
            "known_names": known_names(painter, icons, own, with_style=False, **names),
            "known_names_with_style": known_names(painter, icons, own, with_style=True, **names),
            "free": free_words(painter, icons, own, prompts["free"], options),
            "colour": colour_obeyed(painter, [f"a {pair}" for pair in prompts["pairs"]], options),
            "held_out_colour": colour_obeyed(painter, held_out, options),
        }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
