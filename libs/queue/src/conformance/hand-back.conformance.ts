import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { QueueTransport } from '../contract/transport.js';
import { done, type EchoHandler, echoJob, type EchoPayload, holds, until } from './echo-job.conformance.js';
import { collectResults, consume, envelopeFor, type World } from './fixture.conformance.js';

/** Async jobs, as audio and video have them. */
const policy = { attempts: 2, concurrency: 1 };

const waitingJob = (api: QueueTransport, parts: Partial<JobEnvelope<EchoPayload>> = {}) =>
  envelopeFor(api, { replyTo: null, ...parts });

/** Runs until its worker stops. */
const untilStopped: EchoHandler = ({ signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));

/** A worker that takes one job, and stops while it runs. */
async function takeAndStop(worker: QueueTransport): Promise<string> {
  const taken: string[] = [];
  const consumer = await consume(
    worker,
    (job) => {
      taken.push(job.envelope.requestId);
      return untilStopped(job);
    },
    policy,
  );
  await until(() => taken.length === 1);
  await consumer.close(0);
  return taken[0] ?? '';
}

export function describeHandBack(world: () => World): void {
  describe('jobs of a worker that stops', () => {
    it('return to the front of the queue, and every other job comes after them', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const [first, ...others] = Array.from({ length: 4 }, () => waitingJob(api));
      for (const envelope of [first, ...others]) if (envelope) await api.producer.enqueue(echoJob(policy), envelope);
      expect(await takeAndStop(worker)).toBe(first?.requestId);
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 4, active: 0, delayed: 0 });
      expect(results).toEqual([]);
      await consume(await world().open('worker-2'), async () => done, policy);
      await until(() => results.length === 4);
      expect(results[0]).toMatchObject({ requestId: first?.requestId, attempt: 1, retries: 0, status: 'succeeded' });
    });

    it('keep the retry that they have, whatever number of workers stop', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const envelope = waitingJob(api);
      await api.producer.enqueue(echoJob(policy), envelope);
      for (let stop = 0; stop < 3; stop += 1) expect(await takeAndStop(worker)).toBe(envelope.requestId);
      let runs = 0;
      await consume(
        worker,
        async () => {
          runs += 1;
          if (runs === 1) throw new PlatformError('DEVICE_LOST', 'The model host ended.');
          return done;
        },
        policy,
      );
      await until(() => results.length > 0);
      await until(async () => !(await holds(api, envelope)));
      expect(results).toMatchObject([{ attempt: 1, retries: 1, status: 'succeeded' }]);
    });

    it('return in their last attempt too', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const envelope = waitingJob(api);
      await api.producer.enqueue(echoJob(policy), envelope);
      let runs = 0;
      const consumer = await consume(
        worker,
        async (job) => {
          runs += 1;
          if (runs === 1) throw new PlatformError('DEVICE_LOST', 'The model host ended.');
          return await untilStopped(job);
        },
        policy,
      );
      await until(() => runs === 2);
      await consumer.close(0);
      expect(results).toEqual([]);
      await consume(await world().open('worker-2'), async () => done, policy);
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ attempt: 1, retries: 1, status: 'succeeded' }]);
    });

    it('end at their deadline, however often they return', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const envelope = waitingJob(api, { deadlineAtMs: Date.now() + 3_000 });
      await api.producer.enqueue(echoJob(policy), envelope);
      await takeAndStop(worker);
      await until(() => Date.now() > envelope.deadlineAtMs);
      let runs = 0;
      await consume(worker, async () => ((runs += 1), done), policy);
      await until(() => results.length > 0);
      expect({ runs, results }).toMatchObject({
        runs: 0,
        results: [{ status: 'failed', error: { code: 'REQUEST_TIMEOUT' }, usage: null }],
      });
    });

    it('fail where they may run only once', async () => {
      const { api, worker } = await world().openPair();
      const results = await collectResults(api);
      const once = { attempts: 1, concurrency: 1 };
      await api.producer.enqueue(echoJob(once), waitingJob(api));
      let isTaken = false;
      const consumer = await consume(worker, (job) => ((isTaken = true), untilStopped(job)), once);
      await until(() => isTaken);
      await consumer.close(0);
      await until(() => results.length > 0);
      expect(results).toMatchObject([{ status: 'failed', error: { code: 'MODEL_AT_CAPACITY' } }]);
    });
  });
}
