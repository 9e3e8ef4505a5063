import { describe, expect, it } from 'vitest';
import { linear, parts } from './__fixtures__/parts.js';
import { TokenRules } from './token-rules.js';
import type { WhisperTokens } from './whisper.tokens.js';

/** Token ids of the reference script's tokenizer. */
const tokens = {
  endOfText: 30,
  noTimestamps: 35,
  timestampBegin: 36,
  maxFirstTimestamp: 5,
  suppressed: [],
  suppressedFirst: [],
  isTimestamp: (id: number) => id >= 36,
} as unknown as WhisperTokens;

function allowed(logits: Float32Array): number[] {
  return [...logits.keys()].filter((id) => logits[id] !== -Infinity);
}

describe('the timestamp rules', () => {
  it.each(parts.rules)(
    'allow the tokens of the reference after $history (flat: $flat)',
    ({ seed, flat, history, allowed: expected }) => {
      const random = linear(seed);
      const logits = Float32Array.from({ length: 60 }, (_, id) => 4 * random() - (flat && id < 36 ? 2 : 0));
      new TokenRules(tokens, { timestamps: true }).apply(logits, history);
      expect(allowed(logits)).toEqual(expected);
    },
  );
});

describe('the other rules', () => {
  const strict = { ...tokens, suppressed: [3, 4], suppressedFirst: [7, 30] } as unknown as WhisperTokens;

  it('suppress the tokens that the checkpoint lists, some of them only at the start', () => {
    const rules = new TokenRules(strict, { timestamps: false });
    const first = new Float32Array(60);
    rules.apply(first, []);
    expect(allowed(first)).toEqual([...Array(35).keys()].filter((id) => ![3, 4, 7, 30].includes(id)));
    const later = new Float32Array(60);
    rules.apply(later, [1]);
    expect(allowed(later)).toEqual([...Array(35).keys()].filter((id) => ![3, 4].includes(id)));
  });
});
