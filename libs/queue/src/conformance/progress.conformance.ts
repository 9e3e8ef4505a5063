import { describe, expect, it } from 'vitest';
import type { JobProgress } from '../contract/transport.js';
import { deferred, done, echoJob, until } from './echo-job.conformance.js';
import { poolKeys } from '../trust/pools/pool-keys.js';
import { collectResults, consume, envelopeFor, sealKey, type World } from './fixture.conformance.js';

export function describeProgress(world: () => World): void {
  describe('progress', () => {
    it('of an async job is reported: its start, and how far it has come, once in a while', async () => {
      const { api, worker } = await world().openPair();
      const reported: JobProgress[] = [];
      api.progress.subscribe((progress) => reported.push(progress));
      const release = deferred<void>();
      await consume(worker, async ({ progress }) => {
        await release.promise;
        for (let percent = 1; percent <= 50; percent += 1) progress(percent);
        return done;
      });
      const { requestId } = await enqueue(api, null);
      await until(() => reported.length === 1);
      expect(reported).toEqual([{ requestId, modelId: 'tiny-1.5', attempt: 1, percent: 0 }]);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      release.resolve();
      await until(() => reported.length === 2);
      expect(reported[1]).toMatchObject({ requestId, percent: 1 });
    });

    it('of a job with a reply stream is not reported', async () => {
      const { api, worker } = await world().openPair();
      const reported: JobProgress[] = [];
      api.progress.subscribe((progress) => reported.push(progress));
      const results = await collectResults(api);
      await consume(worker, async ({ progress }) => {
        progress(10);
        return done;
      });
      await enqueue(api, api.replies.address);
      await until(() => results.length === 1);
      const { requestId } = await enqueue(api, null);
      await until(() => reported.length === 1);
      expect(reported).toMatchObject([{ requestId }]);
    });

    it('is reported by the workers of the model alone', async () => {
      const { api, worker } = await world().openPair();
      const reported: JobProgress[] = [];
      api.progress.subscribe((progress) => reported.push(progress));
      const report = { requestId: 'r', attempt: 1, percent: 0 };
      const ofAnother = await world().open('worker-2', { sealKeys: poolKeys([sealKey], ['other']) });
      const plain = await world().open('worker-3', { sealKeys: [] });
      for (const forging of [ofAnother, plain]) forging.progress.report({ ...report, modelId: 'tiny-1.5' });
      ofAnother.progress.report({ ...report, modelId: 'other' });
      worker.progress.report({ ...report, modelId: 'tiny-1.5' });
      await until(() => reported.length >= 2);
      expect(reported.map(({ modelId }) => modelId).toSorted()).toEqual(['other', 'tiny-1.5']);
    });

    it('ends with the artifacts in the job result', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      await consume(worker, async () => ({ ...done, artifacts: ['r1-a', 'r1-b'] }));
      await enqueue(api, null);
      await until(() => results.length === 1);
      expect(results).toMatchObject([{ status: 'succeeded', artifacts: ['r1-a', 'r1-b'] }]);
    });

    async function enqueue(api: Parameters<typeof envelopeFor>[0], replyTo: string | null) {
      const envelope = envelopeFor(api, { replyTo });
      await api.producer.enqueue(echoJob(), envelope);
      return envelope;
    }
  });
}
