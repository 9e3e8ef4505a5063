import { describe, expect, it } from 'vitest';
import { TokenCorrector } from '#rate-limit';
import { testDouble } from '#test/test-double';
import type { ClosedJob } from '../lifecycle/job-states.js';
import { correctReservedTokens } from './token-correction.js';

const job: ClosedJob = {
  requestId: 'r',
  accountId: 'a',
  apiKeyId: 'k',
  modality: 'chat',
  modelId: 'm',
  attempt: 1,
  state: 'succeeded',
  errorCode: null,
  usage: { promptTokens: 40, cachedTokens: 30, completionTokens: 20, reasoningTokens: 5 },
  executionMs: 1,
  reservedTokens: { slot: 7, tokens: 500 },
};

function changesOf(closed: ClosedJob): number[] {
  const changes: number[] = [];
  const store = {
    correct: (_keys: readonly string[], _slot: number, change: number) => Promise.resolve(void changes.push(change)),
  };
  correctReservedTokens(new TokenCorrector(testDouble(store), testDouble({ warn: () => undefined })))(closed);
  return changes;
}

describe('closing a job', () => {
  it('leaves what the job used in the window: prompt and output, cached or not', () => {
    expect(changesOf(job)).toEqual([60 - 500]);
  });

  it('leaves nothing in the window for a job that used nothing, or never reported', () => {
    const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
    expect(changesOf({ ...job, usage })).toEqual([-500]);
    expect(changesOf({ ...job, state: 'expired', usage: null })).toEqual([-500]);
  });

  it('leaves the window unchanged when nothing was reserved', () => {
    expect(changesOf({ ...job, reservedTokens: null })).toEqual([]);
  });
});
