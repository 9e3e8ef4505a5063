import { describe, expect, it } from 'vitest';
import type { BullWorker } from '../jobs/bull-queue.js';
import type { JobEnvelope } from '../jobs/job-definition.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import type { Store } from '../backends/store.js';
import type { ClaimBus } from './claim-bus.js';
import { StickyJobs } from './sticky-jobs.js';

/** What one process does with the jobs that it is called for, with a worker and a store that only answer. */
async function open({ isTaking = true, hasCapacity = true } = {}) {
  const ends: string[] = [];
  const release: string[] = [];
  let call: (requestId: string) => void = () => undefined;
  const worker = { isTaking, claim: async () => true } as unknown as BullWorker<JobEnvelope>;
  const kept = new StickyJobs({
    queue: 'chat.m',
    lockMs: 1_000,
    worker: () => worker,
    store: { release: async (_worker: object, id: string) => release.push(id) > 0 } as unknown as Store,
    membership: { ownId: 'w1', claimsFrom: () => () => undefined } as unknown as BusMembership,
    claims: {
      hear: async (_id: string, _queue: string, listener: typeof call) => {
        call = listener;
        return () => undefined;
      },
    } as unknown as ClaimBus,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    hasCapacity: () => hasCapacity,
    onEnd: (end) => void ends.push(end),
  });
  await kept.start();
  const come = async (requestId: string): Promise<void> => {
    call(requestId);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { kept, come, ends, release };
}

describe('a worker that is called for a job', () => {
  it('claims it', async () => {
    const { come, ends, release } = await open();
    await come('a');
    expect({ ends, release }).toEqual({ ends: ['claimed'], release: [] });
  });

  it.each([{ isTaking: false }, { hasCapacity: false }])('gives it back at once with %o', async (state) => {
    const { come, ends, release } = await open(state);
    await come('a');
    expect({ ends, release }).toEqual({ ends: ['given-back'], release: ['a'] });
  });

  it('gives it back while it is paused, and claims the next one after', async () => {
    const { kept, come, ends, release } = await open();
    kept.refuse();
    await come('a');
    kept.offer();
    await come('b');
    expect({ ends, release }).toEqual({ ends: ['given-back', 'claimed'], release: ['a'] });
  });

  it('gives it back when it stops', async () => {
    const { kept, come, release } = await open();
    kept.refuse();
    await come('a');
    expect(release).toEqual(['a']);
  });
});
