import { describe, expect, it } from 'vitest';
import type { Outcome } from '../transport.js';
import { usage, deferred, until } from './echo-job.conformance.js';
import { type World, collectOutcomes } from './world.conformance.js';

export function describeOutcomes(world: () => World): void {
  describe('outcomes', () => {
    const outcomeOf = (requestId: string): Outcome => ({
      requestId,
      attempt: 1,
      retries: 0,
      status: 'succeeded',
      error: null,
      usage,
      executionMs: 1,
      finishedAtMs: 0,
    });

    it('are processed again when their handler fails, the others once', async () => {
      const { api } = await world().openPair();
      const ids = Array.from({ length: 30 }, (_value, index) => `r${index}`);
      const seen: string[] = [];
      await Promise.all(ids.map((id) => api.outcomes.report(outcomeOf(id))));
      await api.outcomes.process(async ({ requestId }) => {
        seen.push(requestId);
        if (requestId === 'r7' && seen.filter((id) => id === 'r7').length < 3) throw new Error('database is away');
      });
      await until(() => seen.length === ids.length + 2);
      expect(new Set(seen)).toEqual(new Set(ids));
      expect(seen.filter((id) => id === 'r7')).toHaveLength(3);
    });

    it('are pending for every process until they are processed: under way, or postponed', async () => {
      const { api, worker } = await world().openPair();
      const nothing = { postponed: [], underWay: [] };
      expect(await worker.outcomes.pending()).toEqual(nothing);
      await api.outcomes.report(outcomeOf('r1'));
      const { postponed, underWay } = await worker.outcomes.pending();
      expect(postponed).toEqual([]);
      expect(underWay).toHaveLength(1);
      const held = deferred<void>();
      let tries = 0;
      await api.outcomes.process(async () => {
        tries += 1;
        if (tries <= 2) throw new Error('database is away');
        await held.promise;
      });
      let later: readonly string[] = [];
      await until(async () => (later = (await worker.outcomes.pending()).postponed).length > 0);
      expect(later).toEqual(underWay);
      await until(() => tries === 3);
      expect(await worker.outcomes.pending()).toEqual({ postponed: [], underWay });
      held.resolve();
      await until(async () => (await worker.outcomes.pending()).underWay.length === 0);
    });

    it('survive a processor that dies with them', async () => {
      const outcomeLockMs = 1_500;
      const { api } = await world().openPair({ outcomeLockMs });
      const mortal = await world().openMortal('ops-2', { outcomeLockMs });
      const release = deferred<void>();
      let taken = false;
      await mortal.transport.outcomes.process(() => {
        taken = true;
        return release.promise;
      });
      await api.outcomes.report(outcomeOf('r1'));
      await until(() => taken);
      mortal.wire.break({ isReset: true });
      const outcomes = await collectOutcomes(api);
      await until(() => outcomes.length > 0, 40_000);
      expect(outcomes).toEqual([outcomeOf('r1')]);
      release.resolve();
    });
  });
}
