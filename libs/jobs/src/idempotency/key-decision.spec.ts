import { describe, expect, it } from 'vitest';
import type { HeldKey } from './idempotency.repository.js';
import { decideAboutKey } from './key-decision.js';

const kept = new Uint8Array([1]);

function held(changes: Partial<HeldKey>): HeldKey {
  const base = { requestId: 'r', fingerprint: kept, isHeld: false, isExpired: false, answer: null, job: null };
  return { ...base, state: 'admitted', ...changes };
}

function job(state: NonNullable<HeldKey['job']>['state'], isAsync = false): HeldKey['job'] {
  return { state, modelId: 'm', isAsync, queueId: null };
}

describe('what a repeated request gets', () => {
  it.each([
    ['a stored response', held({ state: 'answered', answer: kept }), false, 'replay'],
    ['a response too large to store', held({ state: 'answered' }), false, 'lost'],
    ['a response of yesterday', held({ state: 'answered', answer: kept, isExpired: true }), true, 'run'],
    ['a request whose replica is alive', held({ state: 'claimed', isHeld: true }), false, 'wait'],
    ['a job whose replica is alive', held({ isHeld: true, job: job('succeeded') }), true, 'wait'],
    ['a replica that died before there was a job', held({ state: 'claimed' }), false, 'run'],
    ['a replica that died while its job waits', held({ job: job('queued') }), false, 'wait'],
    ['a replica that died while its job runs', held({ job: job('running') }), false, 'wait'],
    ['a job that succeeded for a dead replica', held({ job: job('succeeded') }), false, 'lost'],
    ['a job that failed for a dead replica', held({ job: job('failed') }), false, 'run'],
    ['a job that was cancelled before it cost anything', held({ job: job('cancelled') }), false, 'run'],
    ['a job that was cancelled and charged', held({ job: job('cancelled') }), true, 'lost'],
    ['a job that expired and was charged', held({ job: job('expired') }), true, 'lost'],
    [
      'a stream that broke off and was charged',
      held({ state: 'cut', answer: kept, job: job('cancelled') }),
      true,
      'replay',
    ],
    [
      'a stream that broke off and cost nothing',
      held({ state: 'cut', answer: kept, job: job('cancelled') }),
      false,
      'run',
    ],
    ['a stream that broke off just now', held({ state: 'cut', answer: kept, job: job('running') }), false, 'wait'],
    ['an error that was charged', held({ state: 'failed', answer: kept, job: job('expired') }), true, 'replay'],
    ['an error that cost nothing', held({ state: 'failed', answer: kept, job: job('failed') }), false, 'run'],
    ['a started job whose replica died', held({ job: job('queued', true) }), false, 'remake'],
    ['a started job that has ended since', held({ job: job('failed', true) }), false, 'remake'],
  ] as const)('after %s', async (_case, key, charged, decision) => {
    expect(await decideAboutKey(key, () => Promise.resolve(charged))).toBe(decision);
  });
});
