import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { JobReport } from '../transport.js';
import {
  EchoPayload,
  type EchoHandler,
  usage,
  done,
  echoJob,
  delta,
  codeOfLast,
  readAll,
  holds,
  deferred,
  sleep,
  until,
} from './echo-job.conformance.js';
import { type World, envelopeFor, consume, collectOutcomes } from './world.conformance.js';

export function describeJobs(world: () => World): void {
  describe('jobs', () => {
    it('run with their payload, send events in order, and leave one outcome and nothing in the queue', async () => {
      const { api, worker } = await world().openPair();
      const outcomes = await collectOutcomes(api);
      await consume(worker, async ({ envelope, mailbox }) => {
        for (let index = 0; index < envelope.payload.count; index += 1) {
          mailbox.send(delta(`${envelope.payload.text}${index}`));
        }
        return done;
      });
      const envelope = envelopeFor(api, { payload: { text: 'x', count: 3 }, attempt: 4 });
      const slot = api.mailbox.open(envelope.requestId);
      await api.producer.enqueue(echoJob(), envelope);

      expect(await readAll(slot)).toEqual([
        { type: 'job-started' },
        delta('x0'),
        delta('x1'),
        delta('x2'),
        { type: 'job-finished', usage },
      ]);
      await until(() => outcomes.length > 0);
      expect(outcomes).toEqual([
        {
          requestId: envelope.requestId,
          attempt: 4,
          retries: 0,
          status: 'succeeded',
          error: null,
          usage,
          executionMs: 1,
          finishedAtMs: expect.any(Number),
        },
      ]);
      await until(async () => !(await holds(api, envelope)));
      expect(await api.producer.counts('echo', 'tiny-1.5')).toEqual({
        waiting: 0,
        active: 0,
        delayed: 0,
        prioritized: 0,
      });
    });

    it('run once when the same request is enqueued twice', async () => {
      const { api, worker } = await world().openPair();
      const envelope = envelopeFor(api, { replyTo: null });
      await api.producer.enqueue(echoJob(), envelope);
      await api.producer.enqueue(echoJob(), envelope);
      await api.producer.enqueueBulk(echoJob(), [envelope]);
      expect((await api.producer.counts('echo', 'tiny-1.5')).waiting).toBe(1);
      const outcomes = await collectOutcomes(api);
      await consume(worker, async () => done);
      await until(() => outcomes.length > 0);
      await until(async () => !(await holds(api, envelope)));
      expect(outcomes).toHaveLength(1);
    });

    it('are shared by two consumers, each running in one', async () => {
      const { api, worker } = await world().openPair();
      const second = await world().open('worker-2');
      const runs: string[] = [];
      const outcomes = await collectOutcomes(api);
      const handler: EchoHandler = async ({ envelope }) => {
        runs.push(envelope.requestId);
        await sleep(2);
        return done;
      };
      await consume(worker, handler);
      await consume(second, handler);
      const envelopes = Array.from({ length: 100 }, () => envelopeFor(api, { replyTo: null }));
      await api.producer.enqueueBulk(echoJob(), envelopes);
      await until(() => outcomes.length === 100);
      expect(runs.toSorted()).toEqual(envelopes.map(({ requestId }) => requestId).toSorted());
    });

    it('are dropped with REQUEST_TIMEOUT when they expired in the queue', async () => {
      const { api, worker } = await world().openPair();
      const outcomes = await collectOutcomes(api);
      const envelope = envelopeFor(api, { deadlineAtMs: Date.now() - 1 });
      const slot = api.mailbox.open(envelope.requestId);
      await api.producer.enqueue(echoJob(), envelope);
      let ran = false;
      await consume(worker, async () => {
        ran = true;
        return done;
      });
      expect(codeOfLast(await readAll(slot))).toBe('REQUEST_TIMEOUT');
      await until(() => outcomes.length > 0);
      expect(outcomes[0]).toMatchObject({ status: 'failed', error: { code: 'REQUEST_TIMEOUT' }, usage: null });
      expect(ran).toBe(false);
    });

    it('fail with INVALID_REQUEST when their payload is not what this version expects', async () => {
      const { api, worker } = await world().openPair();
      const payload = { text: 5, count: 1 } as unknown as EchoPayload;
      const envelope = envelopeFor(api, { payload });
      const slot = api.mailbox.open(envelope.requestId);
      await consume(worker, async () => done);
      await api.producer.enqueue(echoJob(), envelope);
      const events = await readAll(slot);
      expect(events.at(-1)).toMatchObject({ type: 'job-failed', error: { code: 'INVALID_REQUEST', param: 'text' } });
    });

    it('fail for good when their error says never, and hide errors that are not ours', async () => {
      const { api, worker } = await world().openPair();
      const outcomes = await collectOutcomes(api);
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
      const slot = api.mailbox.open(envelope.requestId);
      await api.producer.enqueue(echoJob({ attempts: 3 }), envelope);
      const events = await readAll(slot);
      expect(codeOfLast(events)).toBe('INFERENCE_FAILED');
      expect(JSON.stringify(events)).not.toContain('secret');
      await until(() => outcomes.length > 0);
      await until(async () => !(await holds(api, envelope)));
      expect(runs).toBe(1);
    });

    it('run again while attempts remain when their error says same job, and report once', async () => {
      const { api, worker } = await world().openPair();
      const outcomes = await collectOutcomes(api);
      let runs = 0;
      const handler: EchoHandler = async ({ mailbox }) => {
        runs += 1;
        mailbox.send(delta(`run ${runs}`));
        if (runs < 3) throw new PlatformError('MODEL_AT_CAPACITY', 'No slot is free.');
        return done;
      };
      await consume(worker, handler);
      const envelope = envelopeFor(api, { attempt: 2 });
      const slot = api.mailbox.open(envelope.requestId);
      await api.producer.enqueue(echoJob({ attempts: 3 }), envelope);
      expect((await readAll(slot)).at(-1)).toEqual({ type: 'job-finished', usage });
      await until(() => outcomes.length > 0);
      expect(outcomes).toMatchObject([{ attempt: 2, retries: 2, status: 'succeeded' }]);
    });

    it('fail after the last attempt with the error of that attempt', async () => {
      const { api, worker } = await world().openPair();
      const outcomes = await collectOutcomes(api);
      let runs = 0;
      await consume(worker, async () => {
        runs += 1;
        throw new PlatformError('DEVICE_LOST', 'The model host ended.');
      });
      const envelope = envelopeFor(api);
      const slot = api.mailbox.open(envelope.requestId);
      // `same-job-once`: two runs, however many attempts the policy would allow.
      await api.producer.enqueue(echoJob({ attempts: 5 }), envelope);
      expect(codeOfLast(await readAll(slot))).toBe('DEVICE_LOST');
      await until(() => outcomes.length > 0);
      expect(runs).toBe(2);
      expect(outcomes).toMatchObject([{ attempt: 1, retries: 1, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
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

    it('of a worker that fell silent fail with DEVICE_LOST, and what the zombie says later counts for nothing', async () => {
      const { api } = await world().openPair();
      const outcomes = await collectOutcomes(api);
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
      const slot = api.mailbox.open(envelope.requestId);
      await api.producer.enqueue(echoJob(), envelope);
      await until(() => started);
      mortal.cable.cut();
      await consume(await world().open('worker-3'), async () => done, { lockMs: 600 });
      expect(codeOfLast(await readAll(slot))).toBe('DEVICE_LOST');
      await until(async () => !(await holds(api, envelope)));
      mortal.cable.mend();
      release.resolve(done);
      await until(() => ended);
      await mortal.transport.close();
      expect(outcomes).toMatchObject([{ attempt: 1, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
    });
  });
}
