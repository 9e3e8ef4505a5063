import { describe, expect, it } from 'vitest';
import type { BullWorker } from '../stores/bull-queue.js';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { BusMembership } from '../heartbeats/cluster-membership.js';
import type { Store } from '../contract/store.js';
import type { ClaimBus } from './claim-bus.js';
import { StickyJobs } from './sticky-jobs.js';

/** What one process does with the jobs that it is told to claim, over a worker and a store that only record calls. */
async function open({ isTaking = true, hasCapacity = true, isThere = true, isStoreAway = false } = {}) {
  const ends: string[] = [];
  const released: string[] = [];
  const claimed: string[] = [];
  let send: (requestId: string) => void = () => undefined;
  const worker = {
    isTaking,
    claim: async (id: string) => {
      if (isStoreAway) throw new Error('the store is away');
      claimed.push(id);
      return isThere;
    },
  } as unknown as BullWorker<JobEnvelope>;
  const sticky = new StickyJobs({
    queue: 'chat.m',
    worker: () => worker,
    store: { release: async (_worker: object, id: string) => released.push(id) > 0 } as unknown as Store,
    membership: { ownId: 'w1', offerClaims: () => () => undefined } as unknown as BusMembership,
    claims: {
      subscribe: async (_id: string, _queue: string, listener: typeof send) => {
        send = listener;
        return () => undefined;
      },
    } as unknown as ClaimBus,
    hasCapacity: () => hasCapacity,
    onEnd: (end) => void ends.push(end),
  });
  await sticky.start();
  const receive = async (requestId: string): Promise<void> => {
    send(requestId);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { sticky, receive, ends, released, claimed };
}

describe('a worker that is told to claim a job', () => {
  it('claims it', async () => {
    const { receive, ends, released, claimed } = await open();
    await receive('a');
    // The consumer reports `claimed` when the job starts.
    expect({ ends, released, claimed }).toEqual({ ends: [], released: [], claimed: ['a'] });
  });

  it.each([{ isThere: false }, { isStoreAway: true }])('reports that it was too late with %o', async (state) => {
    const { receive, ends, released } = await open(state);
    await receive('a');
    expect({ ends, released }).toEqual({ ends: ['too-late'], released: [] });
  });

  it.each([{ isTaking: false }, { hasCapacity: false }])('releases it at once with %o', async (state) => {
    const { receive, ends, released, claimed } = await open(state);
    await receive('a');
    expect({ ends, released, claimed }).toEqual({ ends: ['returned'], released: ['a'], claimed: [] });
  });

  it('releases it while paused, and claims the next one after', async () => {
    const { sticky, receive, ends, released, claimed } = await open();
    sticky.pause();
    await receive('a');
    sticky.resume();
    await receive('b');
    expect({ ends, released, claimed }).toEqual({ ends: ['returned'], released: ['a'], claimed: ['b'] });
  });

  it('releases it once it stops', async () => {
    const { sticky, receive, released } = await open();
    sticky.close();
    await receive('a');
    expect(released).toEqual(['a']);
  });
});
