import { describe, expect, it } from 'vitest';
import { refusalOf, type TakenJob } from './delivery-checks.js';
import type { JobEnvelope } from '../contract/job-definition.js';

const nowMs = 1_000;
const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

interface Case {
  envelope?: Partial<JobEnvelope>;
  taken?: Partial<TakenJob>;
  cancelled?: boolean;
  reader?: 'here' | 'gone' | 'never heard of';
}

function codeOf({ envelope, taken, cancelled = false, reader = 'here' }: Case): string | null {
  const complete: JobEnvelope = {
    requestId: 'r',
    modality: 'echo',
    modelId: 'm',
    attempt: 1,
    deadlineAtMs: nowMs + 1,
    replyTo: 'api',
    stream: true,
    payload: {},
    ...envelope,
  };
  const lastKnownState = {
    wasCancelled: () => cancelled,
    isGone: () => reader === 'gone',
    isHere: () => reader === 'here',
  };
  return refusalOf(complete, { isGivenUp: false, stalledBefore: 0, ...taken }, { lastKnownState, clock })?.code ?? null;
}

describe('a job that the queue gives to a worker', () => {
  it.each<{ what: string; job: Case; code: string | null }>([
    { what: 'is run', job: {}, code: null },
    { what: 'is run for a reader nobody has heard of yet', job: { reader: 'never heard of' }, code: null },
    { what: 'is dropped at its deadline', job: { envelope: { deadlineAtMs: nowMs } }, code: 'REQUEST_TIMEOUT' },
    { what: 'is dropped when its client has disconnected', job: { cancelled: true }, code: 'JOB_CANCELLED' },
    { what: 'is dropped when it was withdrawn', job: { envelope: { cancelled: true } }, code: 'JOB_CANCELLED' },
    { what: 'is dropped when its reader is gone', job: { reader: 'gone' }, code: 'JOB_CANCELLED' },
    { what: 'fails when it was abandoned', job: { taken: { isGivenUp: true } }, code: 'DEVICE_LOST' },
    { what: 'fails as a stream of a lost worker', job: { taken: { stalledBefore: 1 } }, code: 'DEVICE_LOST' },
    {
      what: 'is run again as a non-streamed response of a lost worker',
      job: { taken: { stalledBefore: 1 }, envelope: { stream: false } },
      code: null,
    },
    {
      what: 'is dropped as a response of a lost worker to an unknown reader',
      job: { taken: { stalledBefore: 1 }, envelope: { stream: false }, reader: 'never heard of' },
      code: 'JOB_CANCELLED',
    },
    { what: 'is run as a later attempt', job: { envelope: { attempt: 2 } }, code: null },
    {
      what: 'is dropped as a later attempt for an unknown reader',
      job: { envelope: { attempt: 2 }, reader: 'never heard of' },
      code: 'JOB_CANCELLED',
    },
    {
      what: 'is run again for its row only',
      job: { taken: { stalledBefore: 1 }, envelope: { replyTo: null, attempt: 2 }, reader: 'never heard of' },
      code: null,
    },
  ])('$what', ({ job, code }) => {
    expect(codeOf(job)).toBe(code);
  });

  it('that is no envelope is refused with its own error', () => {
    expect(() => codeOf({ envelope: { attempt: Number.NaN } })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST' }),
    );
  });
});
