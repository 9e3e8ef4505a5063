"""Networks: a small autoencoder (128x128x3 <-> 16x16xC) and a text-conditioned U-Net over its latents."""

import math
import torch
import torch.nn as nn
import torch.nn.functional as F

LATENT_SIDE = 16
IMAGE_SIDE = 128


def norm(channels: int) -> nn.Module:
    return nn.GroupNorm(8 if channels % 8 == 0 else 1, channels, eps=1e-5)


class Res(nn.Module):
    """Two convolutions around a shortcut; optionally shifted and scaled by a condition vector."""

    def __init__(self, cin: int, cout: int, cond: int = 0):
        super().__init__()
        self.n1, self.c1 = norm(cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.n2, self.c2 = norm(cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.cond = nn.Linear(cond, 2 * cout) if cond else None
        self.short = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()
        nn.init.zeros_(self.c2.weight)
        nn.init.zeros_(self.c2.bias)

    def forward(self, x, c=None):
        h = self.n2(self.c1(F.silu(self.n1(x))))
        if self.cond is not None:
            scale, shift = self.cond(c)[:, :, None, None].chunk(2, 1)
            h = h * (1 + scale) + shift
        return self.short(x) + self.c2(F.silu(h))


class Encoder(nn.Module):
    def __init__(self, channels=4, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(48, width, 3, padding=1),
            Res(width, width),
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * width, 2 * width, 1),
            Res(2 * width, 2 * width),
            Res(2 * width, 2 * width),
            norm(2 * width),
            nn.SiLU(),
            nn.Conv2d(2 * width, channels, 3, padding=1),
        )

    def forward(self, x):
        return self.body(x)


class Decoder(nn.Module):
    def __init__(self, channels=4, width=32):
        super().__init__()
        w4, w2, w = 4 * width, 2 * width, width
        self.body = nn.Sequential(
            nn.Conv2d(channels, w4, 3, padding=1),
            Res(w4, w4),
            Res(w4, w4),
            Res(w4, w4),
            nn.Conv2d(w4, 4 * w2, 1),
            nn.PixelShuffle(2),
            Res(w2, w2),
            Res(w2, w2),
            nn.Conv2d(w2, 4 * w, 1),
            nn.PixelShuffle(2),
            Res(w, w),
            norm(w),
            nn.SiLU(),
            nn.Conv2d(w, 12, 3, padding=1),
            nn.PixelShuffle(2),
        )

    def forward(self, z):
        return self.body(z)


class Attend(nn.Module):
    """Self-attention, attention over the words, and a feed-forward layer, over the positions of a feature map."""

    def __init__(self, channels: int, words: int, heads: int):
        super().__init__()
        self.heads = heads
        self.n1, self.qkv, self.o1 = (
            nn.LayerNorm(channels),
            nn.Linear(channels, 3 * channels),
            nn.Linear(channels, channels),
        )
        self.n2, self.q, self.kv, self.o2 = (
            nn.LayerNorm(channels),
            nn.Linear(channels, channels),
            nn.Linear(words, 2 * channels),
            nn.Linear(channels, channels),
        )
        self.n3, self.f1, self.f2 = (
            nn.LayerNorm(channels),
            nn.Linear(channels, 3 * channels),
            nn.Linear(3 * channels, channels),
        )
        for layer in (self.o1, self.o2, self.f2):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def split(self, t):
        b, n, c = t.shape
        return t.view(b, n, self.heads, c // self.heads).transpose(1, 2)

    def attention(self, q, k, v, bias=None):
        q, k, v = self.split(q), self.split(k), self.split(v)
        weights = (q @ k.transpose(2, 3)) * (q.shape[-1] ** -0.5)
        if bias is not None:
            weights = weights + bias
        out = weights.softmax(-1) @ v
        b, h, n, d = out.shape
        return out.transpose(1, 2).reshape(b, n, h * d)

    def forward(self, x, words, bias):
        b, c, h, w = x.shape
        t = x.flatten(2).transpose(1, 2)
        t = t + self.o1(self.attention(*self.qkv(self.n1(t)).chunk(3, -1)))
        t = t + self.o2(self.attention(self.q(self.n2(t)), *self.kv(words).chunk(2, -1), bias))
        t = t + self.f2(F.gelu(self.f1(self.n3(t)), approximate="tanh"))
        return t.transpose(1, 2).reshape(b, c, h, w)


class UNet(nn.Module):
    """16x16 -> 8x8 -> 4x4 and back; predicts v. Rows of `states` that are all zero are no words. Row 0 is the sentence."""

    def __init__(self, channels=4, widths=(64, 192, 320), text=384, depth=2):
        super().__init__()
        self.channels, self.widths = channels, tuple(widths)
        a, b, c = widths
        cond = 256
        self.time = nn.Sequential(nn.Linear(128, cond), nn.SiLU(), nn.Linear(cond, cond))
        self.sentence = nn.Sequential(nn.LayerNorm(text), nn.Linear(text, cond))
        self.words = nn.Sequential(nn.LayerNorm(text), nn.Linear(text, 256))
        self.enter = nn.Conv2d(channels, a, 3, padding=1)
        self.place8 = nn.Parameter(torch.randn(1, b, 8, 8) * 0.02)
        self.place4 = nn.Parameter(torch.randn(1, c, 4, 4) * 0.02)
        self.d16 = nn.ModuleList([Res(a, a, cond) for _ in range(depth)])
        self.to8 = nn.Conv2d(a, b, 3, stride=2, padding=1)
        self.d8 = nn.ModuleList([Res(b, b, cond) for _ in range(depth)])
        self.a8 = Attend(b, 256, b // 32)
        self.to4 = nn.Conv2d(b, c, 3, stride=2, padding=1)
        self.d4 = nn.ModuleList([Res(c, c, cond) for _ in range(depth)])
        self.a4 = nn.ModuleList([Attend(c, 256, c // 32) for _ in range(depth)])
        self.up8 = nn.Conv2d(c, 4 * b, 1)
        self.u8 = nn.ModuleList([Res(2 * b, b, cond)] + [Res(b, b, cond) for _ in range(depth - 1)])
        self.b8 = Attend(b, 256, b // 32)
        self.up16 = nn.Conv2d(b, 4 * a, 1)
        self.u16 = nn.ModuleList([Res(2 * a, a, cond)] + [Res(a, a, cond) for _ in range(depth - 1)])
        self.leave = nn.Sequential(norm(a), nn.SiLU(), nn.Conv2d(a, channels, 3, padding=1))
        nn.init.zeros_(self.leave[2].weight)
        nn.init.zeros_(self.leave[2].bias)
        self.register_buffer("freqs", torch.exp(-math.log(10000) * torch.arange(64) / 63), persistent=False)

    def forward(self, x, t, states):
        angle = t.float()[:, None] * self.freqs[None]
        present = states.abs().sum(-1) > 0
        bias = (1 - present.to(states.dtype))[:, None, None, :] * -1e4
        words = self.words(states)
        c = F.silu(self.time(torch.cat([angle.sin(), angle.cos()], -1)) + self.sentence(states[:, 0]))
        h = self.enter(x)
        for r in self.d16:
            h = r(h, c)
        s16 = h
        h = self.to8(h) + self.place8
        for r in self.d8:
            h = r(h, c)
        h = self.a8(h, words, bias)
        s8 = h
        h = self.to4(h) + self.place4
        for r, att in zip(self.d4, self.a4):
            h = att(r(h, c), words, bias)
        h = F.pixel_shuffle(self.up8(h), 2)
        h = torch.cat([h, s8], 1)
        for r in self.u8:
            h = r(h, c)
        h = self.b8(h, words, bias)
        h = F.pixel_shuffle(self.up16(h), 2)
        h = torch.cat([h, s16], 1)
        for r in self.u16:
            h = r(h, c)
        return self.leave(h)
