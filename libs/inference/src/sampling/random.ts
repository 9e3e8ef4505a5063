import { randomBytes } from 'node:crypto';

const mask64 = (1n << 64n) - 1n;

/**
 * xoshiro128++ 1.0 (Blackman and Vigna, prng.di.unimi.it): 128 bits of state, period 2^128 − 1, 32-bit arithmetic
 * without BigInt. The state is filled by two outputs of SplitMix64 from the low 64 bits of the seed, as its authors
 * advise. Each sequence has its own generator, so its draws do not depend on the rest of the batch.
 */
export class Random {
  private readonly state: Uint32Array;

  /**
   * Without a seed, takes one from the operating system. Fractions are cut off; negative seeds are taken modulo 2^64.
   */
  constructor(seed?: number) {
    const bits = seed === undefined ? randomBytes(8).readBigUInt64LE() : BigInt.asUintN(64, BigInt(Math.trunc(seed)));
    this.state = stateFrom(bits);
  }

  /** Creates a generator with a given state of four 32-bit words, not all zero. */
  static withState(words: readonly [number, number, number, number]): Random {
    const random = new Random(0);
    random.state.set(words);
    return random;
  }

  /** Returns the next 32 bits. */
  nextUint32(): number {
    const state = this.state;
    const s0 = state[0] as number;
    const s1 = state[1] as number;
    const s3 = state[3] as number;
    const result = (rotateLeft((s0 + s3) | 0, 7) + s0) >>> 0;
    const mixed2 = (state[2] as number) ^ s0;
    const mixed3 = s3 ^ s1;
    state[0] = s0 ^ mixed3;
    state[1] = s1 ^ mixed2;
    state[2] = mixed2 ^ (s1 << 9);
    state[3] = rotateLeft(mixed3, 11);
    return result;
  }

  /** Returns a uniform number in [0, 1) with 53 bits, from two outputs. */
  nextUnit(): number {
    const high = this.nextUint32() >>> 5;
    const low = this.nextUint32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** Returns the n-th output of SplitMix64, counted from 1. */
export function splitMix64(seed: bigint, n: bigint): bigint {
  let z = (seed + n * 0x9e3779b97f4a7c15n) & mask64;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask64;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask64;
  return z ^ (z >> 31n);
}

function stateFrom(seed: bigint): Uint32Array {
  const first = splitMix64(seed, 1n);
  const second = splitMix64(seed, 2n);
  return Uint32Array.of(
    Number(first & 0xffffffffn),
    Number(first >> 32n),
    Number(second & 0xffffffffn),
    Number(second >> 32n),
  );
}
