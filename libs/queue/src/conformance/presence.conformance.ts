import { describe, expect, it } from 'vitest';
import { beat, until } from './echo-job.conformance.js';
import { type World } from './world.conformance.js';

export function describePresence(world: () => World): void {
  describe('presence', () => {
    it('shows who is there, what changed, and who said good-bye', async () => {
      const { api, worker } = await world().openPair();
      const model = {
        modelId: 'm',
        modalities: ['echo'],
        state: 'loading',
        slots: 4,
        running: 0,
        provider: 'cpu',
      } as const;
      let state: 'loading' | 'ready' = 'loading';
      let changes = 0;
      api.presence.onChange(() => {
        changes += 1;
      });
      await worker.presence.join(() => ({
        processId: 'w1',
        role: 'worker',
        mailboxAddress: null,
        models: [{ ...model, state }],
      }));
      await until(() => api.presence.list().length === 1);
      expect(api.presence.list()[0]?.models[0]?.state).toBe('loading');
      state = 'ready';
      await worker.presence.announce();
      await until(() => api.presence.list()[0]?.models[0]?.state === 'ready');
      await worker.close();
      await until(() => api.presence.list().length === 0);
      expect(changes).toBeGreaterThanOrEqual(3);
    });

    it('loses a process that falls silent', async () => {
      const { api } = await world().openPair();
      const { transport, wire } = await world().openMortal('worker-2');
      await transport.presence.join(() => beat('w2', null));
      await until(() => api.presence.list().length === 1);
      wire.break({ isReset: true });
      await until(() => api.presence.list().length === 0);
    });

    it('measures how long its own beats take over the bus, once there are some', async () => {
      const { api, worker } = await world().openPair();
      expect(worker.presence.lagMs).toBeNull();
      await worker.presence.join(() => beat('w1', null));
      await until(() => worker.presence.lagMs !== null);
      expect(worker.presence.lagMs).toBeGreaterThanOrEqual(0);
      // Those of others are no measure: another clock sent them.
      expect(api.presence.lagMs).toBeNull();
    });

    it('shows those already there to one that comes later', async () => {
      const { api, worker } = await world().openPair();
      await worker.presence.join(() => beat('w1', null));
      const late = await world().open('api-2');
      await late.presence.join(() => beat('a2', null));
      await until(() => late.presence.list().length === 2 && api.presence.list().length === 2);
    });
  });
}
