import { readFileSync } from 'node:fs';

interface Parts {
  mel: {
    frames: number[];
    transformers: number[][];
    whisper: number[][];
    filters128: { sums: number[]; centres: number[] };
  };
  rules: { seed: number; flat: boolean; history: number[]; allowed: number[] }[];
  alignment: { tokens: number; frames: number; sounding: number; skipped: number; matrix: number[]; starts: number[] };
  words: {
    words: { word: string; tokens: number; start: number; end: number }[];
    segments: { start: number; end: number; textTokens: number }[];
    expected: { start: number; end: number; words: { word: string; start: number; end: number }[] }[];
  }[];
  compression: { text: string; ratio: number }[];
}

/** Output of the reference implementations for the same input, made by `tools/reference/whisper_parts.py`. */
export const parts = JSON.parse(readFileSync(new URL('./parts.json', import.meta.url), 'utf8')) as Parts;

/** Returns the reference script's pseudo-random numbers in [0, 1). */
export function linear(seed: number): () => number {
  let state = seed;
  return () => {
    state = Number((BigInt(state) * 1_664_525n + 1_013_904_223n) % 4_294_967_296n);
    return state / 2 ** 32;
  };
}
