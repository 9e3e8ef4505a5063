import { describe, expect, it } from 'vitest';
import type { DesiredPlacements } from '../contract/desired-placements.js';
import { until } from './echo-job.conformance.js';
import { type World } from './fixture.conformance.js';

export function describePlacements(world: () => World): void {
  describe('placements', () => {
    it('reach every running worker, and a later one when it asks', async () => {
      const { api: assigner, worker } = await world().openPair();
      // More than one message of the smaller bus can carry.
      const placements = Array.from({ length: 300 }, (_, index) => ({
        modelId: `model-${index}`,
        pool: 'text',
        pinned: index === 0,
        replicas: index === 1 ? 2 : null,
      }));
      const desired: DesiredPlacements = { revision: 7, placements };
      let asked = 0;
      assigner.placements.subscribe({
        onAsk: () => {
          asked += 1;
          void assigner.placements.announce(desired);
        },
      });
      const heard: DesiredPlacements[] = [];
      worker.placements.subscribe({ onDesired: (reported) => heard.push(reported) });
      await assigner.placements.announce(desired);
      await until(() => heard.length === 1);
      expect(heard[0]).toEqual(desired);
      const late = await world().open('worker-2');
      const heardLate: DesiredPlacements[] = [];
      late.placements.subscribe({ onDesired: (reported) => heardLate.push(reported) });
      late.placements.ask();
      await until(() => heardLate.length === 1);
      expect(heardLate[0]).toEqual(desired);
      expect(asked).toBe(1);
    });

    it('are requested again by a worker that was cut off', async () => {
      const { api: assigner } = await world().openPair();
      let asked = 0;
      assigner.placements.subscribe({ onAsk: () => (asked += 1) });
      const { transport, wire } = await world().openMortal('worker-2');
      transport.placements.ask();
      await until(() => asked === 1);
      wire.break({ isReset: true });
      wire.restore();
      await until(() => asked > 1);
    });

    it('are reported as missed when callers ask in vain, once a second per model', async () => {
      const { api, worker } = await world().openPair();
      const missed: string[] = [];
      worker.placements.subscribe({ onUnserved: (modelId) => missed.push(modelId) });
      for (let time = 0; time < 5; time += 1) for (const id of ['one', 'two']) api.placements.reportUnserved(id);
      await until(() => missed.length === 2);
      api.placements.reportUnserved('three');
      await until(() => missed.length === 3);
      expect(missed.sort()).toEqual(['one', 'three', 'two']);
    });
  });
}
