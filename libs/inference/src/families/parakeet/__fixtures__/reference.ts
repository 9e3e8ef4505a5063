import { readFileSync } from 'node:fs';

export interface DecodedReference {
  tokens: number[];
  durations: number[];
  /** Seconds. */
  timestamps: number[];
}

interface Reference {
  features: { frames: number[]; length: number; columns: number; values: number[][] };
  /** With at most three and ten tokens per frame. */
  three: DecodedReference;
  ten: DecodedReference;
}

/** Output of the reference implementations for the same audio, made by `tools/reference/tiny_parakeet.py`. */
export const reference = JSON.parse(readFileSync(new URL('./reference.json', import.meta.url), 'utf8')) as Reference;

/** Audio of the reference script: a tone that rises and falls, with noise. */
export function referenceAudio(seconds: number): Float32Array {
  let state = 7;
  return Float32Array.from({ length: Math.floor(seconds * 16_000) }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const t = index / 16_000;
    return 0.4 * Math.sin(900 * Math.sin(2 * t) + 1_500 * t) + 0.1 * (state / 2 ** 32 - 0.5);
  });
}
