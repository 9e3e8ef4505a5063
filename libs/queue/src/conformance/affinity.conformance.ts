import { describe, expect, it } from 'vitest';
import { BullProducer } from '../jobs/bull-producer.js';
import { BusMembership } from '../heartbeats/cluster-membership.js';
import type { JobEnvelope, JobPolicy } from '../contract/job-definition.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import type { AffinityDecision, JobReport, StickyJobEnd, QueueTransport } from '../contract/transport.js';
import {
  heartbeat,
  deferred,
  done,
  type EchoHandler,
  echoJob,
  type EchoPayload,
  holds,
  readAll,
  sleep,
  until,
} from './echo-job.conformance.js';
import { collectResults, envelopeFor, type World } from './fixture.conformance.js';

const queue = 'echo.tiny-1.5';

function workerHeartbeat(processId: string, spareSlots = 0): Omit<Heartbeat, 'alive'> {
  const model = { modelId: 'tiny-1.5', modalities: ['echo'], state: 'ready', slots: 64, running: 0, provider: 'cpu' };
  return { ...heartbeat(processId, null), models: [{ ...model, state: 'ready' as const, spareSlots }] };
}

class RunLog {
  readonly runs: { requestId: string; worker: string }[] = [];
  readonly ends: { end: StickyJobEnd; worker: string }[] = [];
  readonly decisions: AffinityDecision['decision'][] = [];

  workerOf({ requestId }: JobEnvelope): string | undefined {
    return this.runs.find((run) => run.requestId === requestId)?.worker;
  }

  claimsOf(worker: string): number {
    return this.endsOf('claimed').filter((claimer) => claimer === worker).length;
  }

  endsOf(wanted: StickyJobEnd): string[] {
    return this.ends.filter(({ end }) => end === wanted).map(({ worker }) => worker);
  }
}

export function describeAffinity(world: () => World): void {
  describe('jobs with a route key', () => {
    async function openApi(stickyMs: number) {
      const log = new RunLog();
      const onDecision = ({ decision }: AffinityDecision) => void log.decisions.push(decision);
      // Workers send heartbeats ten times as often as this api expects, so that none is overdue by chance on a busy
      // machine.
      const membership = { heartbeatMs: 1_000, lostAfterMs: 4_000 };
      const { api } = await world().openPair({ affinity: { stickyMs, onDecision }, membership });
      await api.membership.join(() => heartbeat('api-1', api.replies.address));
      return { api, log };
    }

    /** A worker that claims its sticky jobs. */
    async function openWorker(
      name: string,
      log: RunLog,
      {
        handler = async () => done,
        policy = {},
        spareSlots = 0,
      }: { handler?: EchoHandler; policy?: Partial<JobPolicy>; spareSlots?: number } = {},
    ) {
      // A worker takes the jobs of others that it believes lost, so it is patient on a busy machine.
      const mortal = await world().openMortal(name, { membership: { heartbeatMs: 100, lostAfterMs: 20_000 } });
      const { transport } = mortal;
      await transport.membership.join(() => workerHeartbeat(name, spareSlots));
      const consumer = await transport.consume({
        definition: echoJob(policy),
        modelId: 'tiny-1.5',
        handler: (job) => {
          log.runs.push({ requestId: job.envelope.requestId, worker: name });
          return handler(job);
        },
        onSticky: (end) => void log.ends.push({ end, worker: name }),
        spareSlots,
      });
      await transport.membership.announce();
      return { ...mortal, consumer };
    }

    /** A worker that offers to claim sticky jobs and never does. */
    async function openStalled(name: string): Promise<void> {
      const { membership } = await world().open(name);
      if (membership instanceof BusMembership) membership.offerClaims(queue);
      await membership.join(() => workerHeartbeat(name));
    }

    function seesWorkers({ membership }: QueueTransport, count: number): Promise<void> {
      return until(() => membership.list().filter(({ claims }) => claims?.includes(queue)).length === count);
    }

    async function enqueue(api: QueueTransport, key: string, parts: Partial<JobEnvelope<EchoPayload>> = {}) {
      const envelope = envelopeFor(api, parts);
      const replyStream = api.replies.open(envelope);
      const close = () => replyStream.close();
      readings.set(envelope.requestId, readAll(replyStream).then(close, close));
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => key });
      return envelope;
    }

    /** Enqueues a job that only one worker can run. */
    async function enqueueFor(api: QueueTransport, onlyWorkerId: string) {
      const envelope = envelopeFor(api, {});
      const replyStream = api.replies.open(envelope);
      const close = () => replyStream.close();
      readings.set(envelope.requestId, readAll(replyStream).then(close, close));
      await api.producer.enqueue(echoJob(), envelope, { onlyWorkerId });
      return envelope;
    }

    const readings = new Map<string, Promise<void>>();

    /** Resolves when the job has ended, was read to its end, and is out of the queue. */
    async function disconnected(api: QueueTransport, envelope: JobEnvelope): Promise<void> {
      if (envelope.replyTo !== null) await readings.get(envelope.requestId);
      await until(async () => !(await holds(api, envelope)));
    }

    /** Returns a key whose jobs prefer this worker. A job that it only took over says nothing about the next one. */
    async function keyOf(api: QueueTransport, log: RunLog, worker: string): Promise<string> {
      for (let index = 0; index < 50; index += 1) {
        const before = log.claimsOf(worker);
        await disconnected(api, await enqueue(api, `key-${index}`));
        if (log.claimsOf(worker) > before) return `key-${index}`;
      }
      throw new Error(`no key leads to ${worker}`);
    }

    it('run where those with the same key ran, once each, with one result', async () => {
      const { api, log } = await openApi(5_000);
      const results = await collectResults(api);
      await openWorker('worker-1', log);
      await openWorker('worker-2', log);
      await seesWorkers(api, 2);
      const places = new Map<string, Set<string | undefined>>();
      const envelopes: JobEnvelope[] = [];
      for (let index = 0; index < 40; index += 1) {
        const key = `chat-${index % 8}`;
        const envelope = await enqueue(api, key);
        await disconnected(api, envelope);
        envelopes.push(envelope);
        places.set(key, (places.get(key) ?? new Set()).add(log.workerOf(envelope)));
      }
      expect([...places.values()].map(({ size }) => size)).toEqual(Array<number>(8).fill(1));
      expect(new Set(log.runs.map(({ worker }) => worker)).size).toBe(2);
      await until(() => results.length >= 40);
      expect(results.map(({ requestId }) => requestId).toSorted()).toEqual(
        envelopes.map(({ requestId }) => requestId).toSorted(),
      );
      expect(log.endsOf('claimed')).toHaveLength(40);
      expect(new Set(log.decisions)).toEqual(new Set(['sticky']));
    });

    it('run on the worker alone that they name, and wait for it while it has no room', async () => {
      const { api, log } = await openApi(100);
      const release = deferred<JobReport>();
      const other = await openWorker('worker-1', log);
      await openWorker('worker-2', log, { policy: { concurrency: 1 }, handler: () => release.promise });
      await seesWorkers(api, 2);
      // It runs a job for a worker that it does not know.
      await seesWorkers(other.transport, 2);
      const first = await enqueueFor(api, 'worker-2');
      await until(() => log.runs.length === 1);
      const others = [await enqueueFor(api, 'worker-2'), await enqueueFor(api, 'worker-2')];
      // The delay of the job ends, and worker-1, which is idle, puts it off more than once.
      await sleep(1_000);
      expect(log.runs.map(({ worker }) => worker)).toEqual(['worker-2']);
      release.resolve(done);
      for (const envelope of [first, ...others]) await disconnected(api, envelope);
      expect(log.runs.map(({ worker }) => worker)).toEqual(['worker-2', 'worker-2', 'worker-2']);
    });

    it('run on another worker when the one that they name has gone', async () => {
      const { api, log } = await openApi(100);
      await openWorker('worker-1', log);
      await openWorker('worker-2', log);
      await seesWorkers(api, 2);
      const envelope = await enqueueFor(api, 'worker-3');
      await disconnected(api, envelope);
      expect(log.runs).toHaveLength(1);
    });

    it('prefer no worker where only one serves the model, or no reply stream waits', async () => {
      const { api, log } = await openApi(5_000);
      await openWorker('worker-1', log);
      await seesWorkers(api, 1);
      await disconnected(api, await enqueue(api, 'chat'));
      await openWorker('worker-2', log);
      await seesWorkers(api, 2);
      await disconnected(api, await enqueue(api, 'chat', { replyTo: null }));
      expect(log.decisions).toEqual(['alone']);
      expect(log.ends).toEqual([]);
    });

    it('run elsewhere when their worker does not claim them, and are visible in the queue until then', async () => {
      const { api, log } = await openApi(300);
      await openStalled('stalled-1');
      await openStalled('stalled-2');
      await seesWorkers(api, 2);
      const envelope = await enqueue(api, 'chat');
      expect(await holds(api, envelope)).toBe(true);
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 1, delayed: 0 });
      await sleep(400);
      // No worker is there to notice the end of its delay.
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 1, delayed: 0 });
      await openWorker('worker-1', log);
      await disconnected(api, envelope);
      expect(log.runs).toEqual([{ requestId: envelope.requestId, worker: 'worker-1' }]);
      await until(() => log.endsOf('taken-over').length === 1);
    });

    it('wake an idle worker when their delay ends', async () => {
      const { api, log } = await openApi(200);
      await openWorker('worker-1', log);
      for (const name of ['stalled-1', 'stalled-2', 'stalled-3', 'stalled-4']) await openStalled(name);
      await seesWorkers(api, 5);
      const envelopes = await Promise.all(Array.from({ length: 10 }, (_value, index) => enqueue(api, `chat-${index}`)));
      await until(() => log.runs.length === envelopes.length);
      expect(log.endsOf('taken-over').length).toBeGreaterThan(0);
    });

    it('can be removed while they are delayed, and never run', async () => {
      const { api, log } = await openApi(200);
      await openStalled('stalled-1');
      await openStalled('stalled-2');
      await seesWorkers(api, 2);
      const envelope = await enqueue(api, 'chat');
      expect(await api.producer.remove('echo', 'tiny-1.5', envelope.requestId)).toBe(true);
      expect(await holds(api, envelope)).toBe(false);
      await openWorker('worker-1', log);
      await sleep(300);
      expect(log.runs).toEqual([]);
    });

    it('run once when the same request is enqueued twice', async () => {
      const { api, log } = await openApi(5_000);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      await openWorker('worker-1', log, { handler: () => release.promise });
      await openWorker('worker-2', log, { handler: () => release.promise });
      await seesWorkers(api, 2);
      const envelope = await enqueue(api, 'chat');
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => 'chat' });
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => 'another' });
      await until(() => log.runs.length > 0);
      release.resolve(done);
      await disconnected(api, envelope);
      await until(() => results.length > 0);
      expect(log.runs).toHaveLength(1);
      expect(results).toHaveLength(1);
    });

    it('run once, whether their worker or the end of their delay is first', async () => {
      const { api, log } = await openApi(4);
      const results = await collectResults(api);
      await openWorker('worker-1', log);
      await openWorker('worker-2', log);
      await seesWorkers(api, 2);
      const envelopes = await Promise.all(
        Array.from({ length: 120 }, (_value, index) => enqueue(api, `chat-${index}`)),
      );
      // A result may be delivered twice when a busy machine keeps its handler from confirming it in time.
      const finished = () => [...new Set(results.map(({ requestId }) => requestId))].toSorted();
      await until(() => finished().length >= envelopes.length);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 0);
      const ids = envelopes.map(({ requestId }) => requestId).toSorted();
      expect(log.runs.map(({ requestId }) => requestId).toSorted()).toEqual(ids);
      expect(finished()).toEqual(ids);
    });

    it('run once when they are released while a worker takes them', async () => {
      const { api, log } = await openApi(5);
      const { producer } = api;
      if (!(producer instanceof BullProducer)) throw new Error('another producer');
      await openWorker('worker-1', log);
      for (const name of ['stalled-1', 'stalled-2', 'stalled-3']) await openStalled(name);
      await seesWorkers(api, 4);
      const ids: string[] = [];
      for (let index = 0; index < 60; index += 1) {
        const envelope = await enqueue(api, `chat-${index}`);
        ids.push(envelope.requestId);
        const tries = Array.from({ length: 24 }, (_value, each) => sleep(each / 2));
        await Promise.all(tries.map((pause) => pause.then(() => producer.release(queue, envelope.requestId))));
        await disconnected(api, envelope);
      }
      expect(log.runs.map(({ requestId }) => requestId).toSorted()).toEqual(ids.toSorted());
    });

    it('are released by a worker without room, and do not wait for it', async () => {
      const { api, log } = await openApi(5_000);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      await openWorker('worker-1', log, { handler, policy: { concurrency: 1 } });
      await openWorker('worker-2', log, { handler });
      await seesWorkers(api, 2);
      const key = await keyOf(api, log, 'worker-1');
      await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => log.runs.at(-1)?.worker === 'worker-1');
      const others: JobEnvelope[] = [];
      for (let index = 0; index < 5; index += 1) others.push(await enqueue(api, key));
      for (const envelope of others) await disconnected(api, envelope);
      // Not all jobs are checked: the full worker may have had a fetch in progress, and the end of a job fetches the
      // next.
      expect(others.map((envelope) => log.workerOf(envelope))).toContain('worker-2');
      expect(log.endsOf('returned')).toContain('worker-1');
      release.resolve(done);
    });

    it('share the capacity of their worker with those without a key', async () => {
      const { api, log } = await openApi(5_000);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      await openWorker('worker-1', log, { handler, policy: { concurrency: 3 } });
      const other = await openWorker('worker-2', log, { handler });
      await seesWorkers(api, 2);
      const key = await keyOf(api, log, 'worker-1');
      const long = { payload: { text: 'long', count: 1 } };
      const sticky = [await enqueue(api, key, long), await enqueue(api, key, long)];
      await until(() => sticky.every((envelope) => log.workerOf(envelope) === 'worker-1'));
      await other.consumer.close(0);
      const others = Array.from({ length: 6 }, () => envelopeFor(api, long));
      await api.producer.enqueueBulk(echoJob(), others);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active >= 3);
      await sleep(100);
      // The loop may have had one fetch in progress.
      expect((await api.producer.counts('echo', 'tiny-1.5')).active).toBeLessThanOrEqual(4);
      release.resolve(done);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 0);
      expect(log.runs.filter(({ requestId }) => others.some((one) => one.requestId === requestId))).toHaveLength(6);
    });

    it('run in a spare slot of a full worker when they go first in the fair order, and in no more than it has', async () => {
      const { api, log } = await openApi(5_000);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'short' ? Promise.resolve(done) : release.promise;
      await openWorker('worker-1', log, { handler, policy: { concurrency: 2 }, spareSlots: 1 });
      await seesWorkers(api, 1);
      const flood = Array.from({ length: 8 }, () => envelopeFor(api, { payload: { text: 'flood', count: 1 } }));
      await api.producer.enqueueBulk(echoJob(), flood, { turnOf: () => ({ account: 'flood' }) });
      await until(() => log.runs.length === 2);
      const ask = async (account: string, text: string) => {
        const envelope = envelopeFor(api, { payload: { text, count: 1 } });
        const replyStream = api.replies.open(envelope);
        const close = () => replyStream.close();
        readings.set(envelope.requestId, readAll(replyStream).then(close, close));
        await api.producer.enqueue(echoJob(), envelope, { turn: { account } });
        return envelope;
      };
      const hasRun = (envelope: JobEnvelope) => log.workerOf(envelope) === 'worker-1';
      // No job of the flood has ended.
      await disconnected(api, await ask('single', 'short'));
      const long = await ask('long', 'long');
      await until(() => hasRun(long));
      const [other, ofFlood] = [await ask('other', 'short'), await ask('flood', 'short')];
      await until(() => log.endsOf('returned').length === 1);
      await sleep(100);
      expect([hasRun(other), hasRun(ofFlood)]).toEqual([false, false]);
      release.resolve(done);
      await until(() => results.length === 12);
      const order = log.runs.map(({ requestId }) => requestId);
      // The job runs before all that waited with a turn.
      expect(order.indexOf(other.requestId)).toBeLessThanOrEqual(5);
      // Those that are taken together start in any order: three at most.
      expect(order.indexOf(ofFlood.requestId)).toBeGreaterThanOrEqual(9);
      expect(new Set(order).size).toBe(12);
    });

    it('leave their room to waiting jobs when they end, although all other room of their worker is taken', async () => {
      const { api, log } = await openApi(5_000);
      const releases = new Map<string, () => void>();
      const handler: EchoHandler = ({ envelope }) =>
        new Promise((resolve) => {
          if (envelope.payload.text === 'long') releases.set(envelope.requestId, () => resolve(done));
          else resolve(done);
        });
      await openWorker('worker-1', log, { handler, policy: { concurrency: 2 } });
      const other = await openWorker('worker-2', log, { handler });
      await seesWorkers(api, 2);
      const key = await keyOf(api, log, 'worker-1');
      const long = { payload: { text: 'long', count: 1 } };
      const sticky = await enqueue(api, key, long);
      await until(() => log.workerOf(sticky) === 'worker-1');
      await other.consumer.close(0);
      const [running, waiting] = [envelopeFor(api, long), envelopeFor(api)];
      await api.producer.enqueue(echoJob(), running);
      await until(() => releases.has(running.requestId));
      await api.producer.enqueue(echoJob(), waiting);
      await sleep(100);
      expect(log.workerOf(waiting)).toBeUndefined();
      releases.get(sticky.requestId)?.();
      await until(() => log.workerOf(waiting) === 'worker-1', 3_000);
      releases.get(running.requestId)?.();
    });

    it('succeed in a worker that stops, which releases later ones', async () => {
      const { api, log } = await openApi(5_000);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      const stopping = await openWorker('worker-1', log, { handler });
      await openWorker('worker-2', log, { handler });
      await seesWorkers(api, 2);
      const key = await keyOf(api, log, 'worker-1');
      const claimed = await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => log.workerOf(claimed) === 'worker-1');
      const closed = stopping.consumer.close(10_000);
      const later: JobEnvelope[] = [];
      for (let index = 0; index < 4; index += 1) later.push(await enqueue(api, key));
      for (const envelope of later) await disconnected(api, envelope);
      release.resolve(done);
      await closed;
      // The stopping worker may have had one fetch in progress.
      const elsewhere = later.filter((envelope) => log.workerOf(envelope) === 'worker-2');
      expect(elsewhere.length).toBeGreaterThanOrEqual(3);
      await until(() => results.some(({ requestId }) => requestId === claimed.requestId));
      expect(results.find(({ requestId }) => requestId === claimed.requestId)).toMatchObject({ status: 'succeeded' });
      await seesWorkers(api, 1);
    });

    it('run once when their worker stops while it claims them', async () => {
      const policy = { lockMs: 2_000, stalledMax: 1 };
      const { api, log } = await openApi(400);
      const results = await collectResults(api);
      const handler: EchoHandler = () => sleep(20).then(() => done);
      await openWorker('worker-1', log, { handler, policy });
      const envelopes: JobEnvelope[] = [];
      for (let round = 0; round < 3; round += 1) {
        const stopping = await openWorker(`stopping-${round}`, log, { handler, policy });
        await seesWorkers(api, 2);
        const keys = Array.from({ length: 8 }, (_value, index) => `chat-${round}-${index}`);
        envelopes.push(...(await Promise.all(keys.map((key) => enqueue(api, key)))));
        await stopping.consumer.close(5_000);
        await stopping.transport.close();
        await seesWorkers(api, 1);
      }
      for (const envelope of envelopes) await disconnected(api, envelope);
      // A job left behind in a closed worker would come back once its lock has run out.
      await sleep(3_500);
      const ids = envelopes.map(({ requestId }) => requestId).toSorted();
      expect(log.runs.map(({ requestId }) => requestId).toSorted()).toEqual(ids);
      await until(() => results.length >= ids.length);
      expect(results.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
    });

    it('of a lost worker run elsewhere: those it ran, and those it had not claimed', async () => {
      const policy = { lockMs: 600, stalledMax: 1 };
      const { api, log } = await openApi(300);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      const mortal = await openWorker('worker-1', log, { handler, policy });
      await openWorker('worker-2', log, { handler: async () => done, policy });
      await seesWorkers(api, 2);
      const key = await keyOf(api, log, 'worker-1');
      const running = await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => log.workerOf(running) === 'worker-1');
      mortal.wire.break({ isReset: true });
      const waiting = await Promise.all(Array.from({ length: 5 }, () => enqueue(api, key)));
      const enqueued = [running, ...waiting].map(({ requestId }) => requestId);
      await until(() => enqueued.every((id) => results.some(({ requestId }) => requestId === id)));
      for (const envelope of waiting) expect(log.workerOf(envelope)).toBe('worker-2');
      expect(log.runs.filter(({ requestId }) => requestId === running.requestId).map(({ worker }) => worker)).toEqual([
        'worker-1',
        'worker-2',
      ]);
      release.resolve(done);
      await world().restore();
      await mortal.transport.close();
      // The results of the jobs that found a key may come later than those of all others.
      const ofEnqueued = results.filter(({ requestId }) => enqueued.includes(requestId));
      expect(ofEnqueued.map(({ status }) => status)).toEqual(Array<string>(6).fill('succeeded'));
      const ids = results.map(({ requestId }) => requestId);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });
}
