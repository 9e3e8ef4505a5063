import { describe, expect, it } from 'vitest';
import type { RequestRow } from '#jobs/inspection';
import { presentRow } from './requests.presenter.js';

const createdMs = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(createdMs + ms);

const row: RequestRow = {
  requestId: 'r1-TST',
  queueId: null,
  accountId: 'a',
  modality: 'chat',
  modelId: 'm',
  apiKeyId: 'k',
  keyDescription: '',
  keyLast6: 'abcdef',
  state: 'succeeded',
  attempt: 1,
  errorCode: null,
  createdAt: at(0),
  startedAt: at(200),
  finishedAt: at(1_500),
  executionMs: 1_250,
  firstTokenMs: 300,
  worker: 'default/worker-1',
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 2,
  chargedNano: 5n,
};

describe('the stages of a request', () => {
  it('count from its admission: queued, first token, total', () => {
    expect(presentRow(row, 0)).toMatchObject({
      worker: 'default/worker-1',
      queuedMs: 200,
      firstTokenMs: 500,
      executionMs: 1_250,
      totalMs: 1_500,
    });
  });

  it('have no first token where there was no text, and none yet while it is open', () => {
    expect(presentRow({ ...row, firstTokenMs: null }, 0).firstTokenMs).toBeNull();
    const open = {
      ...row,
      state: 'queued',
      startedAt: null,
      finishedAt: null,
      firstTokenMs: null,
      worker: null,
    } as const;
    expect(presentRow(open, createdMs + 700)).toMatchObject({
      queuedMs: 700,
      firstTokenMs: null,
      totalMs: 700,
      worker: null,
    });
  });
});
