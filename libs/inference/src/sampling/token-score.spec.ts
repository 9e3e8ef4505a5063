import { describe, expect, it } from 'vitest';
import type { LogitsBatch } from './logits-batch.js';
import { scoreToken } from './token-score.js';

const logits = Float32Array.of(9, 9, 9, 0, Math.log(2), Math.log(4), 0);
const size = 3;

/** Two rows of three; row 1 is requested first. */
function batch(members: Partial<LogitsBatch>): LogitsBatch {
  return {
    rowIndexes: Int32Array.of(1, 0),
    topValues: null,
    topIds: null,
    topSize: 0,
    logSumExp: null,
    logits: null,
    vocabularySize: size,
    ...members,
  };
}

describe('scoreToken', () => {
  it('returns natural logarithms under the whole distribution, from all logits', () => {
    const score = scoreToken(batch({ logits }), 0, 0, 2);
    expect(score.logprob).toBeCloseTo(Math.log(1 / 7), 6);
    expect(score.top.map(({ id }) => id)).toEqual([2, 1]);
    expect(score.top[0]?.logprob).toBeCloseTo(Math.log(4 / 7), 6);
  });

  it('returns the same from the top candidates and their log-sum-exp', () => {
    const few = batch({
      topValues: Float32Array.of(9, 9, Math.log(4), Math.log(2)),
      topIds: Int32Array.of(0, 1, 2, 1),
      topSize: 2,
      logSumExp: Float32Array.of(10, Math.log(7)),
    });
    const score = scoreToken(few, 0, 1, 1);
    expect(score.logprob).toBeCloseTo(Math.log(2 / 7), 6);
    expect(score.top).toHaveLength(1);
    expect(score.top[0]?.logprob).toBeCloseTo(Math.log(4 / 7), 6);
  });

  it('returns no alternatives if none are requested', () => {
    expect(scoreToken(batch({ logits }), 0, 2, 0)).toEqual({ logprob: expect.closeTo(Math.log(4 / 7), 6), top: [] });
  });
});
