"""Stage 3: the denoiser, v-prediction on the schedule of the product. Writes RUN/unet.pt.

--resume goes on from it with a new schedule of the learning rate. --minutes follows the clock, --steps does not. SIGTERM
saves and ends."""

import argparse
import os
import signal
import time

import numpy as np
import torch
from common import Budget, device_of, learning_rate, save
from models import Encoder, UNet
from schedule import TRAIN_STEPS, signal_shares


def encode_pictures(cache, run, device):
    """Latents of all pictures, with mean 0 and deviation 1 per channel; kept in RUN/latents.pt. Delete it with the autoencoder."""
    path = f"{run}/latents.pt"
    if os.path.exists(path):
        return torch.load(path)
    weights = torch.load(f"{run}/ae.pt", map_location=device)
    encoder = Encoder(weights["channels"]).to(device).eval()
    encoder.load_state_dict(weights["enc"])
    pictures = cache["pictures"]
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
        batches = (pictures[at : at + 64].to(device).float() / 127.5 - 1 for at in range(0, len(pictures), 64))
        latents = torch.cat([encoder(batch).float().cpu() for batch in batches])
    mean, std = latents.mean((0, 2, 3)), latents.std((0, 2, 3))
    stored = {"z": ((latents - mean[:, None, None]) / std[:, None, None]).half(), "mean": mean, "std": std}
    torch.save(stored, path)
    return stored


class Batches:
    """Pictures with a caption each, every picture once before any comes again."""

    def __init__(self, cache, *, recoloured, dropout, rng):
        kinds, twins = np.array(cache["kinds"]), np.array(cache["twins"])[np.array(cache["originals"])]
        self.pools = [np.flatnonzero((kinds == kind) & ~twins) for kind in (0, 1)]
        self.queues = [np.empty(0, dtype=int), np.empty(0, dtype=int)]
        self.choices = [
            (np.array([at for at, _ in each]), np.cumsum([w for _, w in each]) / sum(w for _, w in each))
            for each in cache["captions"]
        ]
        self.empty, self.recoloured, self.dropout, self.rng = cache["empty"], recoloured, dropout, rng

    def draw(self, kind, count):
        while len(self.queues[kind]) < count:
            self.queues[kind] = np.concatenate([self.queues[kind], self.rng.permutation(self.pools[kind])])
        out, self.queues[kind] = self.queues[kind][:count], self.queues[kind][count:]
        return out

    def next(self, size):
        """Returns the indexes of pictures and of captions, both [size]."""
        count = self.rng.binomial(size, self.recoloured) if len(self.pools[1]) else 0
        pictures = np.concatenate([self.draw(0, size - count), self.draw(1, count)])
        captions = np.array([self.caption(at) for at in pictures])
        captions[self.rng.random(size) < self.dropout] = self.empty
        return torch.from_numpy(pictures), torch.from_numpy(captions)

    def caption(self, picture):
        texts, shares = self.choices[picture]
        return texts[min(np.searchsorted(shares, self.rng.random()), len(texts) - 1)]


def moments(size, device):
    """Moments of the schedule, [size]; stratified, so that each batch sees all of them."""
    spread = (torch.arange(size, device=device) + torch.rand(size, device=device)) * (TRAIN_STEPS / size)
    return spread.long().clamp(0, TRAIN_STEPS - 1)[torch.randperm(size, device=device)]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default="run", help="folder with cache.pt and ae.pt, and of the result")
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--minutes", type=float, default=45)
    parser.add_argument("--steps", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--lr", type=float, default=6e-4, help="highest learning rate")
    parser.add_argument("--warm", type=int, default=200, help="steps until it is reached")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--widths", default="64,192,320")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--ema", type=float, default=0.999, help="decay of the averaged weights, which are used")
    parser.add_argument("--recoloured", type=float, default=0.22, help="share of recoloured pictures")
    parser.add_argument("--dropout", type=float, default=0.1, help="share of pictures without caption")
    parser.add_argument("--save-minutes", type=float, default=4)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--compile", action="store_true", help="torch.compile, for a GPU")
    parser.add_argument("--device", help="default: cuda where there is one")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    device = device_of(args.device)
    cache = torch.load(f"{args.run}/cache.pt", weights_only=False)
    stored = encode_pictures(cache, args.run, device)
    latents, states = stored["z"].float().to(device), cache["states"].to(device)
    channels, path = latents.shape[1], f"{args.run}/unet.pt"
    unet = UNet(channels, [int(width) for width in args.widths.split(",")], depth=args.depth).to(device)
    average = {name: value.detach().clone() for name, value in unet.state_dict().items()}
    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.lr, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
    before_steps, before_seconds = 0, 0.0
    if args.resume:
        old = torch.load(path, map_location=device, weights_only=False)
        unet.load_state_dict({name: value.float() for name, value in old.get("model", old["ema"]).items()})
        average = {name: value.float() for name, value in old["ema"].items()}
        before_steps, before_seconds = old["step"], old["seconds"]
        if "opt" in old:
            optimizer.load_state_dict(old["opt"])
    model = torch.compile(unet) if args.compile else unet
    shares = signal_shares().float().to(device)
    rng = np.random.default_rng(args.seed)
    batches = Batches(cache, recoloured=args.recoloured, dropout=args.dropout, rng=rng)
    budget = Budget(args.minutes, args.steps)
    step, losses, saved, stop = 0, [], time.time(), []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))

    def checkpoint():
        save(
            path,
            model=unet.state_dict(),
            ema=average,
            opt=optimizer.state_dict(),
            step=before_steps + step,
            seconds=before_seconds + budget.seconds(),
            channels=channels,
            widths=args.widths,
            depth=args.depth,
            mean=stored["mean"],
            std=stored["std"],
        )

    while (share := budget.share(step)) < 1 and not stop:
        step += 1
        pictures, captions = batches.next(args.batch)
        clean = latents[pictures.to(device)]
        words = states[captions.to(device)].float()
        moment = moments(args.batch, device)
        kept = shares[moment].sqrt()[:, None, None, None]
        lost = (1 - shares[moment]).sqrt()[:, None, None, None]
        noise = torch.randn_like(clean)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(share, args.lr, step, args.warm)
        with torch.autocast(device.type, torch.bfloat16):
            velocity = model(kept * clean + lost * noise, moment, words)
        loss = (velocity.float() - (kept * noise - lost * clean)).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        total = before_steps + step
        decay = min(args.ema, (1 + total) / (10 + total))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.values()), list(unet.state_dict().values()), 1 - decay)
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"{total} {share:.3f} loss {np.mean(losses[-50:]):.4f}", flush=True)
        if time.time() - saved > 60 * args.save_minutes:
            checkpoint()
            saved = time.time()
    checkpoint()
    print(f"{before_steps + step} steps", flush=True)


if __name__ == "__main__":
    main()
