import { describe, expect, it } from 'vitest';
import type { JobReport } from '../contract/transport.js';
import {
  type EchoHandler,
  usage,
  done,
  echoJob,
  heartbeat,
  codeOfLast,
  readAll,
  deferred,
  until,
} from './echo-job.conformance.js';
import { type World, envelopeFor, consume, collectResults } from './fixture.conformance.js';

export function describeCancelling(world: () => World): void {
  describe('cancelling', () => {
    /** Runs until its signal aborts, then reports the usage so far. */
    const untilAborted: EchoHandler = ({ signal }) =>
      new Promise((resolve) => {
        const stop = () => resolve({ usage, cancelled: true, executionMs: 7, firstTokenMs: 3 });
        if (signal.aborted) stop();
        else signal.addEventListener('abort', stop);
      });

    it('stops a running job and reports its usage', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      await consume(worker, untilAborted);
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      const reader = replyStream[Symbol.asyncIterator]();
      await api.producer.enqueue(echoJob(), envelope);
      expect((await reader.next()).value).toEqual({ type: 'job-started' });
      await api.cancelBus.cancel(envelope.requestId);
      expect((await reader.next()).value).toMatchObject({ type: 'job-failed', error: { code: 'JOB_CANCELLED' } });
      await until(() => results.length > 0);
      expect(results).toMatchObject([
        { status: 'cancelled', error: { code: 'JOB_CANCELLED' }, usage, executionMs: 7, firstTokenMs: 3 },
      ]);
    });

    it('keeps a job from running when the cancel arrived before its pickup', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const envelope = envelopeFor(api);
      let heard = false;
      worker.cancelBus.subscribe(() => {
        heard = true;
      });
      await api.cancelBus.cancel(envelope.requestId);
      await until(() => heard);
      let ran = false;
      await api.producer.enqueue(echoJob(), envelope);
      await consume(worker, async () => {
        ran = true;
        return done;
      });
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ status: 'cancelled', usage: null }]);
      expect(ran).toBe(false);
    });

    it('happens automatically at the deadline, with the usage so far', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      await consume(worker, untilAborted);
      const envelope = envelopeFor(api, { deadlineAtMs: Date.now() + 400 });
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob(), envelope);
      expect(codeOfLast(await readAll(replyStream))).toBe('REQUEST_TIMEOUT');
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ status: 'failed', error: { code: 'REQUEST_TIMEOUT' }, usage }]);
    });

    it('happens automatically when the waiting api is gone, for running and queued jobs', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const { transport: lost, wire } = await world().openMortal('api-2');
      await lost.replies.start();
      await lost.membership.join(() => heartbeat('api-2', lost.replies.address));
      await until(() => worker.membership.list().some(({ processId }) => processId === 'api-2'));
      await worker.consume({ definition: echoJob(), modelId: 'tiny-1.5', handler: untilAborted, concurrency: 1 });
      const envelopes = [envelopeFor(lost), envelopeFor(lost)];
      await api.producer.enqueueBulk(echoJob(), envelopes);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 1);
      wire.break({ isReset: true });
      await until(() => results.length === 2);
      expect(results).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
    });

    it('returns running jobs as MODEL_AT_CAPACITY when the worker stops and its grace period is over', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const consumer = await consume(worker, untilAborted);
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      const reader = replyStream[Symbol.asyncIterator]();
      await api.producer.enqueue(echoJob(), envelope);
      await reader.next();
      await consumer.close(50);
      expect((await reader.next()).value).toMatchObject({ error: { code: 'MODEL_AT_CAPACITY' } });
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ status: 'failed', usage }]);
    });

    it('is not needed when running jobs end within the grace period, and no further job is taken', async () => {
      const { api, worker } = await world().openPair();
      const release = deferred<JobReport>();
      const runs: string[] = [];
      const consumer = await worker.consume({
        definition: echoJob(),
        modelId: 'tiny-1.5',
        concurrency: 1,
        handler: ({ envelope }) => {
          runs.push(envelope.requestId);
          return release.promise;
        },
      });
      const envelopes = [envelopeFor(api), envelopeFor(api)];
      const [first, second] = envelopes.map((envelope) => api.replies.open(envelope));
      await api.producer.enqueueBulk(echoJob(), envelopes);
      await until(() => runs.length === 1);
      const closing = consumer.close(10_000);
      release.resolve(done);
      await closing;
      expect((await readAll(first)).at(-1)).toEqual({ type: 'job-finished', usage });
      expect(runs).toHaveLength(1);
      expect((await api.producer.counts('echo', 'tiny-1.5')).waiting).toBe(1);
      second?.close();
    });
  });
}
