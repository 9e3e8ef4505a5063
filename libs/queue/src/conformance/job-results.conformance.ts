import { describe, expect, it } from 'vitest';
import type { JobResult } from '../contract/transport.js';
import { usage, deferred, until } from './echo-job.conformance.js';
import { type World, collectResults } from './fixture.conformance.js';

export function describeJobResults(world: () => World): void {
  describe('job results', () => {
    const resultOf = (requestId: string): JobResult => ({
      requestId,
      attempt: 1,
      modality: 'echo',
      modelId: 'tiny-1.5',
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
      await Promise.all(ids.map((id) => api.results.report(resultOf(id))));
      await api.results.process(async ({ requestId }) => {
        seen.push(requestId);
        if (requestId === 'r7' && seen.filter((id) => id === 'r7').length < 3) throw new Error('database is away');
      });
      await until(() => seen.length === ids.length + 2);
      expect(new Set(seen)).toEqual(new Set(ids));
      expect(seen.filter((id) => id === 'r7')).toHaveLength(3);
    });

    it('are pending for every process until they are processed: in progress, or postponed', async () => {
      const { api } = await world().openPair();
      // Workers of pools read no results.
      const other = await world().open('ops');
      const nothing = { postponed: [], underWay: [] };
      expect(await other.results.pending()).toEqual(nothing);
      await api.results.report(resultOf('r1'));
      const { postponed, underWay } = await other.results.pending();
      expect(postponed).toEqual([]);
      expect(underWay).toHaveLength(1);
      const held = deferred<void>();
      let tries = 0;
      await api.results.process(async () => {
        tries += 1;
        if (tries <= 2) throw new Error('database is away');
        await held.promise;
      });
      let later: readonly string[] = [];
      await until(async () => (later = (await other.results.pending()).postponed).length > 0);
      expect(later).toEqual(underWay);
      await until(() => tries === 3);
      expect(await other.results.pending()).toEqual({ postponed: [], underWay });
      held.resolve();
      await until(async () => (await other.results.pending()).underWay.length === 0);
    });

    it('survive the death of their processor', async () => {
      const resultLockMs = 1_500;
      const { api } = await world().openPair({ resultLockMs });
      const mortal = await world().openMortal('ops-2', { resultLockMs });
      const release = deferred<void>();
      let taken = false;
      await mortal.transport.results.process(() => {
        taken = true;
        return release.promise;
      });
      await api.results.report(resultOf('r1'));
      await until(() => taken);
      mortal.wire.break({ isReset: true });
      const results = await collectResults(api);
      await until(() => results.length > 0, 40_000);
      expect(results).toEqual([resultOf('r1')]);
      release.resolve();
    });
  });
}
