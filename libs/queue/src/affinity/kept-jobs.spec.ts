import { describe, expect, it } from 'vitest';
import type { BullWorker } from '../bull-queue.js';
import type { JobEnvelope } from '../job-definition.js';
import type { BusPresence } from '../presence-bus.js';
import type { Store } from '../store.js';
import type { ClaimBus } from './claim-bus.js';
import { KeptJobs } from './kept-jobs.js';

/** What one process does with the jobs that it is called for, with a worker and a store that only answer. */
async function open({ isTaking = true, hasRoom = true } = {}) {
  const ends: string[] = [];
  const letGo: string[] = [];
  let call: (requestId: string) => void = () => undefined;
  const worker = { isTaking, claim: async () => true } as unknown as BullWorker<JobEnvelope>;
  const kept = new KeptJobs({
    queue: 'chat.m',
    lockMs: 1_000,
    worker: () => worker,
    store: { letGo: async (_worker: object, id: string) => letGo.push(id) > 0 } as unknown as Store,
    presence: { ownId: 'w1', claimsFrom: () => () => undefined } as unknown as BusPresence,
    claims: {
      hear: async (_id: string, _queue: string, listener: typeof call) => {
        call = listener;
        return () => undefined;
      },
    } as unknown as ClaimBus,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    hasRoom: () => hasRoom,
    onEnd: (end) => void ends.push(end),
  });
  await kept.start();
  const come = async (requestId: string): Promise<void> => {
    call(requestId);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { kept, come, ends, letGo };
}

describe('a worker that is called for a job', () => {
  it('claims it', async () => {
    const { come, ends, letGo } = await open();
    await come('a');
    expect({ ends, letGo }).toEqual({ ends: ['claimed'], letGo: [] });
  });

  it.each([{ isTaking: false }, { hasRoom: false }])('gives it back at once with %o', async (state) => {
    const { come, ends, letGo } = await open(state);
    await come('a');
    expect({ ends, letGo }).toEqual({ ends: ['given-back'], letGo: ['a'] });
  });

  it('gives it back while it is paused, and claims the next one after', async () => {
    const { kept, come, ends, letGo } = await open();
    kept.refuse();
    await come('a');
    kept.offer();
    await come('b');
    expect({ ends, letGo }).toEqual({ ends: ['given-back', 'claimed'], letGo: ['a'] });
  });

  it('gives it back when it stops', async () => {
    const { kept, come, letGo } = await open();
    kept.refuse();
    await come('a');
    expect(letGo).toEqual(['a']);
  });
});
