import { describe, expect, it } from 'vitest';
import {
  usage,
  done,
  membership,
  echoJob,
  delta,
  numbered,
  heartbeat,
  readAll,
  settled,
  sleep,
  until,
} from './echo-job.conformance.js';
import { type World, envelopeFor, consume, collectResults, request } from './fixture.conformance.js';

export function describeOutages(world: () => World): void {
  describe('when the store becomes unavailable', () => {
    it('rejects with SERVICE_UNAVAILABLE soon, and works again once it is back', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      await consume(worker, async () => done);
      await api.ping();
      await world().store.stop();
      const unavailable = { code: 'SERVICE_UNAVAILABLE' };
      try {
        const before = performance.now();
        await expect(api.producer.enqueue(echoJob(), envelopeFor(api))).rejects.toMatchObject(unavailable);
        await expect(api.producer.counts('echo', 'tiny-1.5')).rejects.toMatchObject(unavailable);
        await expect(api.cancelBus.cancel('r')).rejects.toMatchObject(unavailable);
        await expect(api.ping()).rejects.toMatchObject(unavailable);
        // Four operations may each take their limit; anything longer is a hang.
        expect(performance.now() - before).toBeLessThan(10_000);
      } finally {
        await world().store.start();
      }
      await until(() => settled(api.ping()), 10_000);
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      await until(() => settled(api.producer.enqueue(echoJob(), envelope)), 10_000);
      expect((await readAll(replyStream)).at(-1)).toEqual({ type: 'job-finished', usage });
      await until(() => results.some(({ requestId }) => requestId === envelope.requestId), 10_000);
    });

    it('loses no accepted job and no job result over restarts', async () => {
      const { api, worker } = await world().openPair({ resultLockMs: 2_000 });
      const results = await collectResults(api);
      await consume(worker, async () => done, { stalledMax: 5, lockMs: 3_000 });
      const accepted: string[] = [];
      for (let round = 1; round <= 2; round += 1) {
        const restarting = world()
          .store.stop()
          .then(() => world().store.start());
        const enough = accepted.length + 20;
        await until(async () => {
          const envelope = envelopeFor(api, { replyTo: null });
          const taken = await settled(api.producer.enqueue(echoJob({ stalledMax: 5, attempts: 5 }), envelope));
          if (taken) accepted.push(envelope.requestId);
          return accepted.length >= enough;
        });
        await restarting;
      }
      const seen = () => new Set(results.map(({ requestId }) => requestId));
      await until(() => accepted.every((requestId) => seen().has(requestId)), 40_000);
      expect(accepted.length).toBeGreaterThanOrEqual(40);
    });

    it('carries the events of a stream over a restart', async () => {
      const { api, worker } = await world().openPair();
      const reading = readAll(api.replies.open(request('stream')));
      const writer = worker.replies.writer(api.replies.address, request('stream'));
      let restart: Promise<void> | null = null;
      for (let index = 0; index < 300; index += 1) {
        if (index === 100)
          restart = world()
            .store.stop()
            .then(() => world().store.start());
        writer.send(delta(`${index}`));
        await sleep(2);
      }
      await restart;
      writer.send({ type: 'job-finished' });
      expect(await reading).toEqual([...numbered(300), { type: 'job-finished' }]);
    });

    it('counts no process as lost while no heartbeat could arrive', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('w1', null));
      await until(() => api.membership.list().length === 1);
      await world().store.stop();
      await world().store.start();
      await until(() => settled(api.ping()), 10_000);
      await until(() => settled(worker.ping()), 10_000);
      await sleep(membership.lostAfterMs * 2);
      expect(api.membership.list().map(({ processId }) => processId)).toEqual(['w1']);
    });
  });
}
