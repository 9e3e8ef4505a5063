"""Stage 2: the pictures to learn from, with recoloured copies, their captions, and the frozen states of these.

About two minutes on two cores. Also writes `words.txt`: the words of the captions that WordPiece splits."""

import argparse
import re

import numpy as np
import torch
from captions import HUES, captions_of, is_twin, keyword_counts, main_colour, may_recolour, recolour, recolour_captions
from common import load_icons
from text import WORDS, MiniLM, load_wordpiece, whole_words, wordpieces

WORD = re.compile(r"[^\W\d_]+")
BATCH = 256


def collect(images, icons, recolours, rng):
    """Returns pictures [n, 3, 128, 128] uint8, their captions with weights, the icon of each, and 1 for a recoloured one."""
    counts = keyword_counts(icons)
    pictures, captions, originals, kinds = [], [], [], []

    def add(picture, texts, icon, kind):
        pictures.append(picture)
        captions.append(texts)
        originals.append(icon)
        kinds.append(kind)

    for at, icon in enumerate(icons):
        pixels = images[at].numpy()
        colour, hue, share = main_colour(pixels)
        add(images[at], captions_of(icon, colour, counts, rng), at, 0)
        if share < 0.4 or icon["group"] == "People & Body":
            continue
        others = [c for c in HUES if abs((HUES[c] - hue + 180) % 360 - 180) > 35 and may_recolour(icon, c)]
        count = recolours if icon["group"] != "Smileys & Emotion" else 1
        for other in rng.permutation(others)[:count]:
            turned = torch.from_numpy(recolour(pixels, hue, HUES[other]))
            add(turned, recolour_captions(icon, str(other)), at, 1)
    return torch.stack(pictures), captions, originals, kinds


def encode(texts, minilm):
    """[n, 1 + longest, 384] in half precision: the states of MiniLM."""
    tokenizer = load_wordpiece(f"{minilm}/tokenizer.json")
    model = MiniLM(f"{minilm}/model.fp16.safetensors").eval()
    pieces = [wordpieces(tokenizer, text)[: WORDS - 2] for text in texts]
    states = torch.zeros(len(texts), 3 + max(map(len, pieces)), 384, dtype=torch.float16)
    order = sorted(range(len(texts)), key=lambda at: len(pieces[at]))
    with torch.inference_mode():
        for first in range(0, len(order), BATCH):
            pick = order[first : first + BATCH]
            ids = torch.zeros(len(pick), max(len(pieces[at]) for at in pick) + 2, dtype=torch.long)
            for row, at in enumerate(pick):
                ids[row, : len(pieces[at]) + 2] = torch.tensor([101, *pieces[at], 102])
            out = model(ids)
            states[torch.tensor(pick), : out.shape[1]] = out.half()
    return states


def unknown_words(texts, icons, minilm):
    words = {word for text in texts for word in WORD.findall(text)}
    words |= {w for icon in icons for k in icon["keywords"] for w in WORD.findall(k.lower().replace("_", " "))}
    known = whole_words(load_wordpiece(f"{minilm}/tokenizer.json"))
    return sorted(word for word in words - known if len(word) > 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data", help="folder of prepare.mjs")
    parser.add_argument("--run", default="run", help="folder of the results")
    parser.add_argument("--minilm", required=True, help="folder with tokenizer.json and model.fp16.safetensors")
    parser.add_argument("--recolours", type=int, default=3, help="copies of each drawing in other colours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rng = np.random.default_rng(args.seed)
    images, icons = load_icons(args.data)
    pictures, captions, originals, kinds = collect(images, icons, args.recolours, rng)
    texts = sorted({text for each in captions for text, _ in each} | {""})
    print(f"{len(icons)} drawings, {len(pictures)} pictures, {len(texts)} captions", flush=True)
    with open(f"{args.run}/words.txt", "w") as file:
        file.write("\n".join(unknown_words(texts, icons, args.minilm)) + "\n")
    names = {icon["name"] for icon in icons}
    index = {text: at for at, text in enumerate(texts)}
    torch.save(
        {
            "pictures": pictures,
            "captions": [[(index[text], weight) for text, weight in each] for each in captions],
            "texts": texts,
            "states": encode(texts, args.minilm),
            "originals": originals,
            "kinds": kinds,
            "icons": icons,
            "twins": [is_twin(icon, names) for icon in icons],
            "empty": index[""],
        },
        f"{args.run}/cache.pt",
    )


if __name__ == "__main__":
    main()
