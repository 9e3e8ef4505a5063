import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { delta, done, echoJob, readAll, until } from './echo-job.conformance.js';
import { poolKeys } from '../trust/pools/pool-keys.js';
import { consume, envelopeFor, request, sealKey, type World } from './fixture.conformance.js';
import { dumpStore } from '#test/store-dump';

/** A phrase that no store has seen. */
const phrase = (): string => `planted-${randomBytes(8).toString('hex')}`;

export function describeSealing(world: () => World): void {
  describe('sealed payloads', () => {
    it('show nothing in the store or its log, neither what was asked nor what was answered', async () => {
      const { api, worker } = await world().openPair();
      const [asked, answered, waits] = [phrase(), phrase(), phrase()];
      const running = envelopeFor(api, { payload: { text: asked, count: 1 } });
      const waiting = envelopeFor(api, { modelId: 'nobody', payload: { text: waits, count: 1 } });
      const reading = readAll(api.replies.open(running));
      await api.producer.enqueueBulk(echoJob(), [waiting]);
      const seen: string[] = [];
      await consume(worker, async ({ envelope, replies }) => {
        seen.push(envelope.payload.text);
        replies.send(delta(answered));
        await until(async () => (await dumpStore(adminUrlOf(world()))).includes(running.requestId));
        return done;
      });
      await api.producer.enqueue(echoJob(), running);
      expect(await reading).toContainEqual(delta(answered));
      expect(seen).toEqual([asked]);
      const dump = await dumpStore(adminUrlOf(world()));
      for (const planted of [asked, answered, waits]) expect(dump.includes(planted)).toBe(false);
    });

    it('would be found by this search without a key', async () => {
      await world().openPair();
      const api = await world().open('plain', { sealKeys: [] });
      const planted = phrase();
      const envelope = envelopeFor(api, { replyTo: null, modelId: 'nobody', payload: { text: planted, count: 1 } });
      await api.producer.enqueue(echoJob(), envelope);
      expect((await dumpStore(adminUrlOf(world()))).includes(planted)).toBe(true);
    });

    it('are opened by any key of a process, so that keys change one process after the other', async () => {
      const { api } = await world().openPair();
      const newKey = 'a1'.repeat(32);
      const both = await world().open('worker-2', { sealKeys: [sealKey, newKey] });
      const next = await world().open('api-2', { sealKeys: [newKey, sealKey] });
      const plain = await world().open('api-3', { sealKeys: [] });
      const seen: string[] = [];
      await consume(both, async ({ envelope }) => {
        seen.push(envelope.payload.text);
        return done;
      });
      for (const [text, producer] of Object.entries({ old: api, next, plain })) {
        await producer.producer.enqueue(echoJob(), envelopeFor(api, { replyTo: null, payload: { text, count: 1 } }));
      }
      await until(() => seen.length === 3);
      expect(seen.toSorted()).toEqual(['next', 'old', 'plain']);
    });

    it('answer the requests of their model, and disturb none of another', async () => {
      const { api, worker } = await world().openPair();
      const models = ['other', 'third'];
      const pool = await world().open('worker-2', { sealKeys: poolKeys([sealKey], models) });
      const plain = await world().open('worker-3', { sealKeys: [] });
      const { address } = api.replies;
      const readings = models.map((modelId) => readAll(api.replies.open({ requestId: modelId, modelId })));
      const attacked = readAll(api.replies.open(request('victim')));
      const finished = { type: 'job-finished' };
      for (const forging of [pool, plain]) {
        for (const modelId of [...models, 'tiny-1.5', 'unknown']) {
          forging.replies.writer(address, { requestId: 'victim', modelId }).send(delta('forged'), finished);
        }
      }
      for (const modelId of models) {
        pool.replies.writer(address, { requestId: modelId, modelId }).send(delta(modelId), finished);
      }
      expect(await Promise.all(readings)).toEqual(models.map((modelId) => [delta(modelId), finished]));
      worker.replies.writer(address, request('victim')).send(delta('honest'), finished);
      expect(await attacked).toEqual([delta('honest'), finished]);
    });

    it('fail the job in a worker that has another key, or none', async () => {
      const { api } = await world().openPair();
      for (const sealKeys of [['b2'.repeat(32)], []]) {
        const other = await world().open('worker-2', { sealKeys });
        const results: string[] = [];
        const processing = await api.results.process(async ({ status, error }) => {
          results.push(`${status} ${error?.code}`);
        });
        const consumer = await consume(other, async () => done);
        await api.producer.enqueue(echoJob(), envelopeFor(api, { replyTo: null }));
        await until(() => results.length === 1);
        expect(results).toEqual(['failed INFERENCE_FAILED']);
        await consumer.close(0);
        await processing.close();
      }
    });
  });
}

function adminUrlOf({ store }: World): string {
  return store.adminUrl ?? store.url;
}
