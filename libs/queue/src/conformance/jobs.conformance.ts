import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import { ClaimBus } from '../affinity/claim-bus.js';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { JobReport } from '../contract/transport.js';
import {
  EchoPayload,
  type EchoHandler,
  usage,
  done,
  heartbeat,
  echoJob,
  delta,
  codeOfLast,
  readAll,
  holds,
  deferred,
  sleep,
  until,
} from './echo-job.conformance.js';
import { type World, envelopeFor, consume, collectResults, introduce } from './fixture.conformance.js';

export function describeJobs(world: () => World): void {
  describe('jobs', () => {
    it('run with their payload, send events in order, and leave one result and nothing in the queue', async () => {
      const { api, worker } = await world().openPair();
      await introduce({ api, worker });
      const results = await collectResults(api);
      await consume(worker, async ({ envelope, replies }) => {
        for (let index = 0; index < envelope.payload.count; index += 1) {
          replies.send(delta(`${envelope.payload.text}${index}`));
        }
        return { ...done, firstTokenMs: 1 };
      });
      const envelope = envelopeFor(api, { payload: { text: 'x', count: 3 }, attempt: 4 });
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob(), envelope);

      expect(await readAll(replyStream)).toEqual([
        { type: 'job-started' },
        delta('x0'),
        delta('x1'),
        delta('x2'),
        { type: 'job-finished', usage },
      ]);
      await until(() => results.length > 0);
      expect(results).toEqual([
        {
          requestId: envelope.requestId,
          attempt: 4,
          modality: envelope.modality,
          modelId: envelope.modelId,
          retries: 0,
          status: 'succeeded',
          error: null,
          usage,
          executionMs: 1,
          firstTokenMs: 1,
          finishedAtMs: expect.any(Number),
        },
      ]);
      await until(async () => !(await holds(api, envelope)));
      expect(await api.producer.counts('echo', 'tiny-1.5')).toEqual({
        waiting: 0,
        active: 0,
        delayed: 0,
      });
    });

    it('run once when the same request is enqueued twice', async () => {
      const { api, worker } = await world().openPair();
      const envelope = envelopeFor(api, { replyTo: null });
      await api.producer.enqueue(echoJob(), envelope);
      await api.producer.enqueue(echoJob(), envelope);
      await api.producer.enqueueBulk(echoJob(), [envelope]);
      expect((await api.producer.counts('echo', 'tiny-1.5')).waiting).toBe(1);
      const results = await collectResults(api);
      await consume(worker, async () => done);
      await until(() => results.length > 0);
      await until(async () => !(await holds(api, envelope)));
      expect(results).toHaveLength(1);
    });

    it('are shared by two consumers, each running in one', async () => {
      const { api, worker } = await world().openPair();
      const second = await world().open('worker-2');
      const runs: string[] = [];
      const results = await collectResults(api);
      const handler: EchoHandler = async ({ envelope }) => {
        runs.push(envelope.requestId);
        await sleep(2);
        return done;
      };
      await consume(worker, handler);
      await consume(second, handler);
      const envelopes = Array.from({ length: 100 }, () => envelopeFor(api, { replyTo: null }));
      await api.producer.enqueueBulk(echoJob(), envelopes);
      await until(() => results.length === 100);
      expect(runs.toSorted()).toEqual(envelopes.map(({ requestId }) => requestId).toSorted());
    });

    it('are not taken by a consumer whose start failed halfway, nor by a closed one', async () => {
      const { api, worker } = await world().openPair();
      await worker.membership.join(() => heartbeat('worker', null));
      const takers: string[] = [];
      const taking = (name: string) => async () => (takers.push(name), done);
      const subscribe = vi.spyOn(ClaimBus.prototype, 'subscribe').mockRejectedValueOnce(new Error('the store is away'));
      await expect(consume(worker, taking('half'))).rejects.toThrow('away');
      subscribe.mockRestore();
      const second = await consume(worker, taking('second'));
      const results = await collectResults(api);
      for (let job = 0; job < 5; job += 1) await api.producer.enqueue(echoJob(), envelopeFor(api));
      await until(() => results.length === 5);
      await second.close(0);
      await api.producer.enqueue(echoJob(), envelopeFor(api));
      await sleep(300);
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 1 });
      expect(new Set(takers)).toEqual(new Set(['second']));
    });

    it('are not taken while their consumer is paused, nor after it was closed while paused, and running jobs continue', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const release = deferred<null>();
      const taken: string[] = [];
      const consumer = await consume(worker, async ({ envelope }) => {
        taken.push(envelope.payload.text);
        if (envelope.payload.text === 'slow') await release.promise;
        return done;
      });
      const enqueue = (text: string) =>
        api.producer.enqueue(echoJob(), envelopeFor(api, { replyTo: null, payload: { text, count: 1 } }));
      await enqueue('slow');
      await until(() => taken.length === 1);
      consumer.pause();
      consumer.pause();
      // The consumer may already have requested the next job.
      await sleep(500);
      await enqueue('late');
      await sleep(300);
      expect(taken).toEqual(['slow']);
      release.resolve(null);
      await until(() => results.length === 1);
      consumer.resume();
      consumer.resume();
      await until(() => results.length === 2);
      expect(results.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
      consumer.pause();
      await consumer.close(0);
      consumer.resume();
      await enqueue('never');
      await sleep(300);
      expect(taken).toEqual(['slow', 'late']);
    });

    it('are dropped with REQUEST_TIMEOUT when they expired in the queue', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const envelope = envelopeFor(api, { deadlineAtMs: Date.now() - 1 });
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob(), envelope);
      let ran = false;
      await consume(worker, async () => {
        ran = true;
        return done;
      });
      expect(codeOfLast(await readAll(replyStream))).toBe('REQUEST_TIMEOUT');
      await until(() => results.length > 0);
      expect(results[0]).toMatchObject({ status: 'failed', error: { code: 'REQUEST_TIMEOUT' }, usage: null });
      expect(ran).toBe(false);
    });

    it('fail with INVALID_REQUEST when their payload is not what this version expects', async () => {
      const { api, worker } = await world().openPair();
      const payload = { text: 5, count: 1 } as unknown as EchoPayload;
      const envelope = envelopeFor(api, { payload });
      const replyStream = api.replies.open(envelope);
      await consume(worker, async () => done);
      await api.producer.enqueue(echoJob(), envelope);
      const events = await readAll(replyStream);
      expect(events.at(-1)).toMatchObject({ type: 'job-failed', error: { code: 'INVALID_REQUEST', param: 'text' } });
    });

    it('are rejected for good when their error says never, with foreign errors hidden', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      let runs = 0;
      await consume(
        worker,
        async () => {
          runs += 1;
          throw new Error('secret path /home');
        },
        { attempts: 3 },
      );
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob({ attempts: 3 }), envelope);
      const events = await readAll(replyStream);
      expect(codeOfLast(events)).toBe('INFERENCE_FAILED');
      expect(JSON.stringify(events)).not.toContain('secret');
      await until(() => results.length > 0);
      await until(async () => !(await holds(api, envelope)));
      expect(runs).toBe(1);
    });

    it('run again while attempts remain when their error says same job, and report once', async () => {
      const { api, worker } = await world().openPair();
      await introduce({ api, worker });
      const results = await collectResults(api);
      let runs = 0;
      const handler: EchoHandler = async ({ replies }) => {
        runs += 1;
        replies.send(delta(`run ${runs}`));
        if (runs < 3) throw new PlatformError('MODEL_AT_CAPACITY', 'No slot is free.');
        return done;
      };
      await consume(worker, handler);
      const envelope = envelopeFor(api, { attempt: 2 });
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob({ attempts: 3 }), envelope);
      expect((await readAll(replyStream)).at(-1)).toEqual({ type: 'job-finished', usage });
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ attempt: 2, retries: 2, status: 'succeeded' }]);
    });

    it('fail after the last attempt with the error of that attempt', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      let runs = 0;
      await consume(worker, async () => {
        runs += 1;
        throw new PlatformError('DEVICE_LOST', 'The model host ended.');
      });
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      // `same-job-once`: two runs, however many attempts the policy allows.
      await api.producer.enqueue(echoJob({ attempts: 5 }), envelope);
      expect(codeOfLast(await readAll(replyStream))).toBe('DEVICE_LOST');
      await until(() => results.length > 0);
      expect(runs).toBe(2);
      expect(results).toMatchObject([{ attempt: 1, retries: 1, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
    });

    it('are removed while they wait, and not once they run', async () => {
      const { api, worker } = await world().openPair();
      const waiting = envelopeFor(api, { replyTo: null });
      await api.producer.enqueue(echoJob(), waiting);
      expect(await holds(api, waiting)).toBe(true);
      expect(await api.producer.remove('echo', 'tiny-1.5', waiting.requestId)).toBe(true);
      expect(await holds(api, waiting)).toBe(false);
      expect(await api.producer.remove('echo', 'tiny-1.5', waiting.requestId)).toBe(false);

      const release = deferred<JobReport>();
      let started = false;
      await consume(worker, () => {
        started = true;
        return release.promise;
      });
      const running = envelopeFor(api, { replyTo: null });
      await api.producer.enqueue(echoJob(), running);
      await until(() => started);
      expect(await api.producer.remove('echo', 'tiny-1.5', running.requestId)).toBe(false);
      expect(await holds(api, running)).toBe(true);
      release.resolve(done);
      await until(async () => !(await holds(api, running)));
    });

    it('of a silent worker fail with DEVICE_LOST, and later reports of the zombie do not count', async () => {
      const { api } = await world().openPair();
      const results = await collectResults(api);
      const mortal = await world().openMortal('worker-2');
      const release = deferred<JobReport>();
      let ended = false;
      let started = false;
      await consume(
        mortal.transport,
        async () => {
          started = true;
          const report = await release.promise;
          ended = true;
          return report;
        },
        { lockMs: 600 },
      );
      const envelope = envelopeFor(api);
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob(), envelope);
      await until(() => started);
      mortal.wire.break({ isReset: true });
      await consume(await world().open('worker-3'), async () => done, { lockMs: 600 });
      expect(codeOfLast(await readAll(replyStream))).toBe('DEVICE_LOST');
      await until(async () => !(await holds(api, envelope)));
      await world().restore();
      release.resolve(done);
      await until(() => ended);
      await mortal.transport.close();
      expect(results).toMatchObject([{ attempt: 1, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
    });

    describe('of a lost worker that may run once more', () => {
      const policy = { lockMs: 600, stalledMax: 1 };

      /** An api that is known to be alive, and a job that has sent something when its worker is cut off for good. */
      async function lose(parts: Partial<JobEnvelope<EchoPayload>> = {}) {
        const { api } = await world().openPair();
        await api.membership.join(() => heartbeat('api-1', api.replies.address));
        const results = await collectResults(api);
        const mortal = await world().openMortal('worker-2');
        const release = deferred<JobReport>();
        const envelope = envelopeFor(api, parts);
        const replyStream = api.replies.open(envelope);
        let started = false;
        await consume(
          mortal.transport,
          async ({ replies }) => {
            replies.send(delta('first'));
            started = true;
            return release.promise;
          },
          policy,
        );
        await api.producer.enqueue(echoJob(policy), envelope);
        await until(() => started);
        const second = await world().open('worker-3');
        await until(() => second.membership.list().length > 0);
        mortal.wire.break({ isReset: true });
        return { api, second, mortal, release, envelope, replyStream, results };
      }

      const handler: EchoHandler = async ({ replies }) => {
        replies.send(delta('second'));
        return done;
      };

      it('run again when no part of the response was read, and later reports of the zombie do not count', async () => {
        const { second, mortal, release, replyStream, results } = await lose();
        await consume(second, handler, policy);
        const events = await readAll(replyStream);
        expect(events.slice(-3)).toEqual([{ type: 'job-started' }, delta('second'), { type: 'job-finished', usage }]);
        await world().restore();
        release.resolve(done);
        await mortal.transport.close();
        expect(results).toMatchObject([{ attempt: 1, status: 'succeeded' }]);
      });

      it('fail with DEVICE_LOST when a part of the response has been read', async () => {
        const { second, release, replyStream, results } = await lose({ stream: true });
        let runs = 0;
        const counting: EchoHandler = async () => {
          runs += 1;
          return done;
        };
        await consume(second, counting, policy);
        expect(codeOfLast(await readAll(replyStream))).toBe('DEVICE_LOST');
        await until(() => results.length > 0);
        expect({ runs, results }).toMatchObject({ runs: 0, results: [{ usage: null }] });
        release.resolve(done);
      });

      it('are dropped as cancelled when they were withdrawn, also by a worker that has not heard of it', async () => {
        const { api, second, release, envelope, results } = await lose();
        await api.producer.withdraw(envelope.modality, envelope.modelId, envelope.requestId);
        await consume(second, handler, policy);
        await until(() => results.length > 0);
        expect(results).toMatchObject([{ status: 'cancelled', usage: null }]);
        release.resolve(done);
      });
    });

    it('that are not in the queue are withdrawn without a trace', async () => {
      const { api } = await world().openPair();
      const envelope = envelopeFor(api);
      await api.producer.withdraw(envelope.modality, envelope.modelId, envelope.requestId);
      expect(await holds(api, envelope)).toBe(false);
    });
  });
}
