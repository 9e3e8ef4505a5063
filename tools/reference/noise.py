"""The noise of this project."""

import math

import numpy as np

MASK = (1 << 64) - 1


def noise(seed, count):
    """Returns the numbers of `NormalNoise`: xoshiro128++ seeded by SplitMix64, then the Box-Muller transform."""

    def split(n):
        z = (seed + n * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    first, second = split(1), split(2)
    state = [first & 0xFFFFFFFF, first >> 32, second & 0xFFFFFFFF, second >> 32]
    turn = lambda word, bits: ((word << bits) | (word >> (32 - bits))) & 0xFFFFFFFF

    def word():
        s0, s1, s2, s3 = state
        mixed2, mixed3 = s2 ^ s0, s3 ^ s1
        state[:] = [s0 ^ mixed3, s1 ^ mixed2, mixed2 ^ ((s1 << 9) & 0xFFFFFFFF), turn(mixed3, 11)]
        return (turn((s0 + s3) & 0xFFFFFFFF, 7) + s0) & 0xFFFFFFFF

    unit = lambda: ((word() >> 5) * 2.0**26 + (word() >> 6)) / 2.0**53
    values = []
    while len(values) < count:
        radius = math.sqrt(-2 * math.log(1 - unit()))
        angle = 2 * math.pi * unit()
        values += [radius * math.cos(angle), radius * math.sin(angle)]
    return np.array(values[:count], dtype=np.float32)
