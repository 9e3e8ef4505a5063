"""Stage 1: the autoencoder, 128 x 128 x 3 to 16 x 16 x 6 and back. Writes RUN/ae.pt; a new one asks for a new denoiser."""

import argparse
import math
import os

import torch
from common import Budget, device_of, learning_rate, load_icons, save, turn_hue
from models import Decoder, Encoder


def edges(images):
    return images[..., 1:, :] - images[..., :-1, :], images[..., 1:] - images[..., :-1]


def loss_of(made, images, latents):
    """Mean absolute error of pixels and of edges; latents are kept small."""
    edge = sum((u - v).abs().mean() for u, v in zip(edges(made), edges(images)))
    return (made - images).abs().mean() + 0.5 * edge + 0.003 * latents.square().mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data", help="folder of prepare.mjs")
    parser.add_argument("--run", default="run", help="folder of the results")
    parser.add_argument("--channels", type=int, default=6, help="channels of a latent")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=13)
    parser.add_argument("--steps", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--lr", type=float, default=2e-3, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="go on from RUN/ae.pt")
    parser.add_argument("--device", help="default: cuda where there is one")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    device = device_of(args.device)
    images = load_icons(args.data)[0].to(device)
    encoder, decoder = Encoder(args.channels).to(device), Decoder(args.channels).to(device)
    path, step, mean = os.path.join(args.run, "ae.pt"), 0, None
    if args.resume:
        old = torch.load(path, map_location=device)
        encoder.load_state_dict(old["enc"])
        decoder.load_state_dict(old["dec"])
    weights = [*decoder.parameters(), *encoder.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=args.lr, betas=(0.9, 0.99), weight_decay=1e-3)
    budget = Budget(args.minutes, args.steps)

    def checkpoint():
        save(path, enc=encoder.state_dict(), dec=decoder.state_dict(), channels=args.channels, step=step)

    order = torch.empty(0, dtype=torch.long)
    while (share := budget.share(step)) < 1:
        step += 1
        while len(order) < args.batch:
            order = torch.cat([order, torch.randperm(len(images))])
        pick, order = order[: args.batch].to(device), order[args.batch :]
        batch = images[pick].float() / 127.5 - 1
        third = args.batch // 3
        batch[:third] = turn_hue(batch[:third], torch.rand(third, device=device) * 2 * math.pi)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(share, args.lr, step)
        with torch.autocast(device.type, torch.bfloat16):
            latents = encoder(batch)
            # Noise, so that the decoder forgives what the denoiser leaves.
            made = decoder(latents + 0.15 * torch.randn_like(latents))
        loss = loss_of(made.float(), batch, latents.float())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        error = ((made.float() - batch) / 2).square().mean().item()
        mean = error if mean is None else 0.98 * mean + 0.02 * error
        if step % 50 == 0:
            print(f"{step} {share:.3f} loss {loss.item():.4f} PSNR {-10 * math.log10(mean):.2f} dB", flush=True)
        if step % 500 == 0:
            checkpoint()
    checkpoint()


if __name__ == "__main__":
    main()
