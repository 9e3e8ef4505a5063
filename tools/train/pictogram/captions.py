"""Captions of the icons: names, keywords, styles, colours."""

import re
import unicodedata
from collections import Counter
import numpy as np

HUES = {"red": 0, "orange": 28, "yellow": 52, "green": 120, "teal": 175, "blue": 215, "purple": 275, "pink": 328}
COLOURS = set(HUES) | {"brown", "black", "white", "grey", "gray"}
# Pairs of colour and thing that no training picture shows: for the check of what was not seen.
HELD_OUT = {
    ("blue", "apple"),
    ("green", "car"),
    ("purple", "banana"),
    ("pink", "frog"),
    ("blue", "fire"),
    ("green", "rocket"),
    ("purple", "cat"),
    ("red", "frog"),
    ("blue", "strawberry"),
    ("yellow", "car"),
    ("pink", "whale"),
    ("blue", "dog"),
}
STARTS = [
    "an icon of ",
    "a pictogram of ",
    "a drawing of ",
    "a picture of ",
    "a photo of ",
    "an image of ",
    "an illustration of ",
    "a simple drawing of ",
]
COUNTABLE = {"Animals & Nature", "Food & Drink", "Objects"}
STYLES = {"noto": "noto", "flat": "flat", "shaded": "shaded", "fx": "fx"}


def clean(name):
    name = re.sub(r"\(.*?\)", " ", name.replace("’", "'"))
    name = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
    return re.sub(r"\s+", " ", re.sub(r"[^a-z0-9' ]", " ", name.lower().replace("_", " "))).strip()


def article(text):
    return ("an " if text[:1] in "aeiou" else "a ") + text


def hsv(rgb):
    """[n, 3] in 0..1."""
    high, low = rgb.max(1), rgb.min(1)
    span = high - low
    r, g, b = rgb.T
    safe = np.where(span > 0, span, 1)
    hue = np.where(high == r, ((g - b) / safe) % 6, np.where(high == g, (b - r) / safe + 2, (r - g) / safe + 4)) * 60
    return np.where(span > 0, hue, 0), np.where(high > 0, span / np.maximum(high, 1e-6), 0), high


def main_colour(image):
    """(name or None, hue, share of the drawing that has it). image [3, h, w] uint8."""
    rgb = image.reshape(3, -1).T / 255.0
    ink = rgb.min(1) < 0.92
    rgb = rgb[ink]
    h, s, v = hsv(rgb)
    vivid = (s > 0.3) & (v > 0.25)
    if vivid.mean() < 0.35:
        if np.median(v) < 0.35:
            return "black", 0, 0.0
        if vivid.mean() < 0.15:
            return ("grey" if np.median(v) < 0.85 else "white"), 0, 0.0
        return None, 0, 0.0
    hist, _ = np.histogram(h[vivid], bins=36, range=(0, 360), weights=s[vivid])
    smooth = hist + np.roll(hist, 1) + np.roll(hist, -1)
    hue = (smooth.argmax() + 0.5) * 10
    near = np.abs((h - hue + 180) % 360 - 180) < 25
    share = (near & vivid).mean()
    names = sorted(HUES, key=lambda c: abs((hue - HUES[c] + 180) % 360 - 180))
    name = names[0]
    picked = v[near & vivid]
    if name in ("orange", "red", "yellow") and len(picked) and np.median(picked) < 0.62:
        name = "brown"
    return (name if share > 0.4 else None), hue, share


def recolour(image, hue, target):
    """Turns what has about the hue to another; other colours stay."""
    flat = image.reshape(3, -1).T / 255.0
    h, s, v = hsv(flat)
    far = np.abs((h - hue + 180) % 360 - 180)
    weight = np.clip((48 - far) / 12, 0, 1) * (s > 0.04)
    h2 = (h + (target - hue)) % 360

    def k(n):
        return (n + h2 / 60) % 6

    def f(n):
        return v - v * s * np.clip(np.minimum(k(n), 4 - k(n)), 0, 1)

    turned = np.stack([f(5), f(3), f(1)], 1)
    out = flat * (1 - weight[:, None]) + turned * weight[:, None]
    return np.clip(np.rint(out * 255), 0, 255).astype(np.uint8).T.reshape(image.shape)


def without_colour(name):
    return " ".join(w for w in name.split() if w not in COLOURS)


def keyword_counts(icons):
    """How many things have a keyword."""
    return Counter(k for code, ks in {i["code"]: i["keywords"] for i in icons}.items() for k in {clean(x) for x in ks})


def plural(name):
    ending = "es" if re.search(r"(s|x|ch|sh)$", name) else "s"
    return name[:-1] + "ies" if re.search(r"[^aeiou]y$", name) else name + ending


def is_twin(icon, names):
    """A man or a woman of which there is also a person: near-twins that only cost capacity."""
    rest = re.sub(r"^(man|woman) ", "", icon["name"])
    return rest != icon["name"] and (rest in names or "person " + rest in names)


def captions_of(icon, colour, counts, rng):
    """[(text, weight)]: what may be said of a drawing, and how often."""
    name = clean(icon["name"])
    style = STYLES[icon["style"]]
    keywords = [k for k in dict.fromkeys(clean(k) for k in icon["keywords"]) if k != name and 2 < len(k) < 26]
    keywords = [k for k in keywords if not re.search(r"\d", k)]
    words = [k for k in keywords if counts[k] <= 4]
    shared = [k for k in keywords if 4 < counts[k] <= 12]
    rng.shuffle(words)
    rng.shuffle(shared)
    out = [
        (name, 3),
        (article(name), 2),
        (f"{name}, {style} style", 3),
        (f"{article(name)}, {style}", 1),
        *[(str(start) + article(name), 0.6) for start in rng.choice(STARTS, 2, replace=False)],
        (f"{name} emoji", 0.5),
    ]
    if colour and not COLOURS & set(name.split()):
        out += [(f"{colour} {name}", 1), (f"{article(colour)} {name}, {style} style", 0.7)]
    if icon["group"] in COUNTABLE and " " not in name:
        out += [(plural(name), 0.4)]
    if name.endswith(" face"):
        out += [(name.removesuffix(" face"), 0.7)]
    out += [(word, 0.5) for word in words[:4]] + [(word, 0.25) for word in shared[:2]]
    if words:
        out += [
            (f'{name}, {", ".join(words[:2])}', 0.7),
            (f"{words[0]} {name}" if len(words[0].split()) == 1 else f"{name} {words[0]}", 0.4),
        ]
    return out


def recolour_captions(icon, colour):
    thing = without_colour(clean(icon["name"]))
    style = STYLES[icon["style"]]
    return [
        (f"{colour} {thing}", 2),
        (f"{article(colour)} {thing}", 2),
        (f"{colour} {thing}, {style} style", 2),
        (f"{article(colour)} {thing}, {style}", 1),
    ]


def may_recolour(icon, colour):
    words = set(clean(icon["name"]).split())
    return not any(c == colour and thing in words | {w + "s" for w in words} for c, thing in HELD_OUT) and not (
        ("automobile" in words or "taxi" in words) and (colour, "car") in HELD_OUT
    )

