import { describe, expect, it } from 'vitest';
import { heartbeat, until } from './echo-job.conformance.js';
import { type World } from './fixture.conformance.js';

export function describeMembership(world: () => World): void {
  describe('cluster membership', () => {
    it('shows which processes are there, what changed, and which ones left', async () => {
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
      api.membership.onChange(() => {
        changes += 1;
      });
      await worker.membership.join(() => ({
        processId: 'w1',
        role: 'worker',
        replyAddress: null,
        models: [{ ...model, state }],
      }));
      await until(() => api.membership.list().length === 1);
      expect(api.membership.list()[0]?.models[0]?.state).toBe('loading');
      state = 'ready';
      await worker.membership.announce();
      await until(() => api.membership.list()[0]?.models[0]?.state === 'ready');
      await worker.close();
      await until(() => api.membership.list().length === 0);
      expect(changes).toBeGreaterThanOrEqual(3);
    });

    it('loses a process that falls silent', async () => {
      const { api } = await world().openPair();
      const { transport, wire } = await world().openMortal('worker-2');
      await transport.membership.join(() => heartbeat('w2', null));
      await until(() => api.membership.list().length === 1);
      wire.break({ isReset: true });
      await until(() => api.membership.list().length === 0);
    });

    it('measures how long its own heartbeats take over the bus, once there are some', async () => {
      const { api, worker } = await world().openPair();
      expect(worker.membership.lagMs).toBeNull();
      await worker.membership.join(() => heartbeat('w1', null));
      await until(() => worker.membership.lagMs !== null);
      expect(worker.membership.lagMs).toBeGreaterThanOrEqual(0);
      // Heartbeats of others measure nothing, because another clock sent them.
      expect(api.membership.lagMs).toBeNull();
    });

    it('shows existing processes to a later one', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('w1', null));
      const late = await world().open('api-2');
      await late.membership.join(() => heartbeat('a2', null));
      await until(() => late.membership.list().length === 2 && api.membership.list().length === 2);
    });
  });
}
