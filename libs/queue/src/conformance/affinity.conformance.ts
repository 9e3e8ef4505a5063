import { describe, expect, it } from 'vitest';
import { BullProducer } from '../jobs/bull-producer.js';
import { BusMembership } from '../heartbeats/cluster-membership.js';
import type { JobEnvelope, JobPolicy } from '../jobs/job-definition.js';
import type { Heartbeat } from '../heartbeats/heartbeat.js';
import type { AffinityDecision, JobReport, StickyJobEnd, QueueTransport } from '../transport.js';
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

function workerHeartbeat(processId: string): Omit<Heartbeat, 'alive'> {
  const model = { modelId: 'tiny-1.5', modalities: ['echo'], state: 'ready', slots: 64, running: 0, provider: 'cpu' };
  return { ...heartbeat(processId, null), models: [{ ...model, state: 'ready' as const }] };
}

/** What the workers of one test did. */
class Diary {
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
      const diary = new Diary();
      const onDecision = ({ decision }: AffinityDecision) => void diary.decisions.push(decision);
      // Workers beat ten times as often as this api expects: on a busy machine none is overdue by chance.
      const membership = { heartbeatMs: 1_000, lostAfterMs: 4_000 };
      const { api } = await world().openPair({ affinity: { stickyMs, onDecision }, membership });
      await api.membership.join(() => heartbeat('api-1', api.replies.address));
      return { api, diary };
    }

    /** A worker that comes for what is kept for it. */
    async function openWorker(
      name: string,
      diary: Diary,
      { handler = async () => done, policy = {} }: { handler?: EchoHandler; policy?: Partial<JobPolicy> } = {},
    ) {
      const mortal = await world().openMortal(name);
      const { transport } = mortal;
      await transport.membership.join(() => workerHeartbeat(name));
      const consumer = await transport.consume({
        definition: echoJob(policy),
        modelId: 'tiny-1.5',
        handler: (job) => {
          diary.runs.push({ requestId: job.envelope.requestId, worker: name });
          return handler(job);
        },
        onSticky: (end) => void diary.ends.push({ end, worker: name }),
      });
      await transport.membership.announce();
      return { ...mortal, consumer };
    }

    /** A worker that says it comes for what is kept for it, and never does. */
    async function openStalled(name: string): Promise<void> {
      const { membership } = await world().open(name);
      if (membership instanceof BusMembership) membership.claimsFrom(queue);
      await membership.join(() => workerHeartbeat(name));
    }

    function heard({ membership }: QueueTransport, count: number): Promise<void> {
      return until(() => membership.list().filter(({ claims }) => claims?.includes(queue)).length === count);
    }

    async function enqueue(api: QueueTransport, key: string, parts: Partial<JobEnvelope<EchoPayload>> = {}) {
      const envelope = envelopeFor(api, parts);
      const slot = api.replies.open(envelope.requestId);
      const close = () => slot.close();
      readings.set(envelope.requestId, readAll(slot).then(close, close));
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => key });
      return envelope;
    }

    const readings = new Map<string, Promise<void>>();

    /** Ended, read to its end, and out of the queue. */
    async function disconnected(api: QueueTransport, envelope: JobEnvelope): Promise<void> {
      if (envelope.replyTo !== null) await readings.get(envelope.requestId);
      await until(async () => !(await holds(api, envelope)));
    }

    /** A key whose jobs are kept for this worker: one that it only took over says nothing of where the next one goes. */
    async function keyOf(api: QueueTransport, diary: Diary, worker: string): Promise<string> {
      for (let index = 0; index < 50; index += 1) {
        const before = diary.claimsOf(worker);
        await disconnected(api, await enqueue(api, `key-${index}`));
        if (diary.claimsOf(worker) > before) return `key-${index}`;
      }
      throw new Error(`no key leads to ${worker}`);
    }

    it('run where those with the same key ran, once each, with one outcome', async () => {
      const { api, diary } = await openApi(5_000);
      const results = await collectResults(api);
      await openWorker('worker-1', diary);
      await openWorker('worker-2', diary);
      await heard(api, 2);
      const places = new Map<string, Set<string | undefined>>();
      const envelopes: JobEnvelope[] = [];
      for (let index = 0; index < 40; index += 1) {
        const key = `chat-${index % 8}`;
        const envelope = await enqueue(api, key);
        await disconnected(api, envelope);
        envelopes.push(envelope);
        places.set(key, (places.get(key) ?? new Set()).add(diary.workerOf(envelope)));
      }
      expect([...places.values()].map(({ size }) => size)).toEqual(Array<number>(8).fill(1));
      expect(new Set(diary.runs.map(({ worker }) => worker)).size).toBe(2);
      await until(() => results.length >= 40);
      expect(results.map(({ requestId }) => requestId).toSorted()).toEqual(
        envelopes.map(({ requestId }) => requestId).toSorted(),
      );
      expect(diary.endsOf('claimed')).toHaveLength(40);
      expect(new Set(diary.decisions)).toEqual(new Set(['kept']));
    });

    it('are kept for nobody where one worker is there, or nobody waits for them', async () => {
      const { api, diary } = await openApi(5_000);
      await openWorker('worker-1', diary);
      await heard(api, 1);
      await disconnected(api, await enqueue(api, 'chat'));
      await openWorker('worker-2', diary);
      await heard(api, 2);
      await disconnected(api, await enqueue(api, 'chat', { replyTo: null }));
      expect(diary.decisions).toEqual(['alone']);
      expect(diary.ends).toEqual([]);
    });

    it('run elsewhere when their worker does not come, and are seen in the queue until then', async () => {
      const { api, diary } = await openApi(300);
      await openStalled('deaf-1');
      await openStalled('deaf-2');
      await heard(api, 2);
      const envelope = await enqueue(api, 'chat');
      expect(await holds(api, envelope)).toBe(true);
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 1, delayed: 0 });
      await sleep(400);
      // Nobody is there whom the end of its time could wake.
      expect(await api.producer.counts('echo', 'tiny-1.5')).toMatchObject({ waiting: 1, delayed: 0 });
      await openWorker('worker-1', diary);
      await disconnected(api, envelope);
      expect(diary.runs).toEqual([{ requestId: envelope.requestId, worker: 'worker-1' }]);
      await until(() => diary.endsOf('taken-over').length === 1);
    });

    it('wake a worker that was idle when their time is over', async () => {
      const { api, diary } = await openApi(200);
      await openWorker('worker-1', diary);
      for (const name of ['deaf-1', 'deaf-2', 'deaf-3', 'deaf-4']) await openStalled(name);
      await heard(api, 5);
      const envelopes = await Promise.all(Array.from({ length: 10 }, (_value, index) => enqueue(api, `chat-${index}`)));
      await until(() => diary.runs.length === envelopes.length);
      expect(diary.endsOf('taken-over').length).toBeGreaterThan(0);
    });

    it('are removed while they are kept, and never run', async () => {
      const { api, diary } = await openApi(200);
      await openStalled('deaf-1');
      await openStalled('deaf-2');
      await heard(api, 2);
      const envelope = await enqueue(api, 'chat');
      expect(await api.producer.remove('echo', 'tiny-1.5', envelope.requestId)).toBe(true);
      expect(await holds(api, envelope)).toBe(false);
      await openWorker('worker-1', diary);
      await sleep(300);
      expect(diary.runs).toEqual([]);
    });

    it('run once when the same request is enqueued twice', async () => {
      const { api, diary } = await openApi(5_000);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      await openWorker('worker-1', diary, { handler: () => release.promise });
      await openWorker('worker-2', diary, { handler: () => release.promise });
      await heard(api, 2);
      const envelope = await enqueue(api, 'chat');
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => 'chat' });
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => 'another' });
      await until(() => diary.runs.length > 0);
      release.resolve(done);
      await disconnected(api, envelope);
      await until(() => results.length > 0);
      expect(diary.runs).toHaveLength(1);
      expect(results).toHaveLength(1);
    });

    it('run once whoever is quicker, their worker or the end of their time', async () => {
      const { api, diary } = await openApi(4);
      const results = await collectResults(api);
      await openWorker('worker-1', diary);
      await openWorker('worker-2', diary);
      await heard(api, 2);
      const envelopes = await Promise.all(
        Array.from({ length: 120 }, (_value, index) => enqueue(api, `chat-${index}`)),
      );
      await until(() => results.length >= envelopes.length);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 0);
      const ids = envelopes.map(({ requestId }) => requestId).toSorted();
      expect(diary.runs.map(({ requestId }) => requestId).toSorted()).toEqual(ids);
      expect(results.map(({ requestId }) => requestId).toSorted()).toEqual(ids);
    });

    it('run once when they are let go in the moment in which they are taken', async () => {
      const { api, diary } = await openApi(5);
      const { producer } = api;
      if (!(producer instanceof BullProducer)) throw new Error('another producer');
      await openWorker('worker-1', diary);
      for (const name of ['deaf-1', 'deaf-2', 'deaf-3']) await openStalled(name);
      await heard(api, 4);
      const ids: string[] = [];
      for (let index = 0; index < 60; index += 1) {
        const envelope = await enqueue(api, `chat-${index}`);
        ids.push(envelope.requestId);
        const tries = Array.from({ length: 24 }, (_value, each) => sleep(each / 2));
        await Promise.all(tries.map((pause) => pause.then(() => producer.recall(queue, envelope.requestId))));
        await disconnected(api, envelope);
      }
      expect(diary.runs.map(({ requestId }) => requestId).toSorted()).toEqual(ids.toSorted());
    });

    it('are given back by a worker without room, and do not wait for it', async () => {
      const { api, diary } = await openApi(5_000);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      await openWorker('worker-1', diary, { handler, policy: { concurrency: 1 } });
      await openWorker('worker-2', diary, { handler });
      await heard(api, 2);
      const key = await keyOf(api, diary, 'worker-1');
      await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => diary.runs.at(-1)?.worker === 'worker-1');
      const others: JobEnvelope[] = [];
      for (let index = 0; index < 5; index += 1) others.push(await enqueue(api, key));
      for (const envelope of others) await disconnected(api, envelope);
      // The full worker may have had one fetch under way.
      const elsewhere = others.filter((envelope) => diary.workerOf(envelope) === 'worker-2');
      expect(elsewhere.length).toBeGreaterThanOrEqual(4);
      expect(diary.endsOf('given-back')).toContain('worker-1');
      release.resolve(done);
    });

    it('share the room of their worker with those without a key', async () => {
      const { api, diary } = await openApi(5_000);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      await openWorker('worker-1', diary, { handler, policy: { concurrency: 3 } });
      const other = await openWorker('worker-2', diary, { handler });
      await heard(api, 2);
      const key = await keyOf(api, diary, 'worker-1');
      const long = { payload: { text: 'long', count: 1 } };
      const kept = [await enqueue(api, key, long), await enqueue(api, key, long)];
      await until(() => kept.every((envelope) => diary.workerOf(envelope) === 'worker-1'));
      await other.consumer.close(0);
      const others = Array.from({ length: 6 }, () => envelopeFor(api, long));
      await api.producer.enqueueBulk(echoJob(), others);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active >= 3);
      await sleep(100);
      // The loop may have had one fetch under way.
      expect((await api.producer.counts('echo', 'tiny-1.5')).active).toBeLessThanOrEqual(4);
      release.resolve(done);
      await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 0);
      expect(diary.runs.filter(({ requestId }) => others.some((one) => one.requestId === requestId))).toHaveLength(6);
    });

    it('end well in a worker that stops, which gives back those that come later', async () => {
      const { api, diary } = await openApi(5_000);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      const stopping = await openWorker('worker-1', diary, { handler });
      await openWorker('worker-2', diary, { handler });
      await heard(api, 2);
      const key = await keyOf(api, diary, 'worker-1');
      const claimed = await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => diary.workerOf(claimed) === 'worker-1');
      const closed = stopping.consumer.close(10_000);
      const later: JobEnvelope[] = [];
      for (let index = 0; index < 4; index += 1) later.push(await enqueue(api, key));
      for (const envelope of later) await disconnected(api, envelope);
      release.resolve(done);
      await closed;
      // The stopping worker may have had one fetch under way.
      const elsewhere = later.filter((envelope) => diary.workerOf(envelope) === 'worker-2');
      expect(elsewhere.length).toBeGreaterThanOrEqual(3);
      await until(() => results.some(({ requestId }) => requestId === claimed.requestId));
      expect(results.find(({ requestId }) => requestId === claimed.requestId)).toMatchObject({ status: 'succeeded' });
      await heard(api, 1);
    });

    it('of a lost worker run elsewhere: those it ran, and those that it was still to come for', async () => {
      const policy = { lockMs: 600, stalledMax: 1 };
      const { api, diary } = await openApi(300);
      const results = await collectResults(api);
      const release = deferred<JobReport>();
      const handler: EchoHandler = ({ envelope }) =>
        envelope.payload.text === 'long' ? release.promise : Promise.resolve(done);
      const mortal = await openWorker('worker-1', diary, { handler, policy });
      await openWorker('worker-2', diary, { handler: async () => done, policy });
      await heard(api, 2);
      const key = await keyOf(api, diary, 'worker-1');
      const before = results.length;
      const running = await enqueue(api, key, { payload: { text: 'long', count: 1 } });
      await until(() => diary.workerOf(running) === 'worker-1');
      mortal.wire.break({ isReset: true });
      const waiting = await Promise.all(Array.from({ length: 5 }, () => enqueue(api, key)));
      await until(() => results.length >= before + 6);
      for (const envelope of waiting) expect(diary.workerOf(envelope)).toBe('worker-2');
      expect(diary.runs.filter(({ requestId }) => requestId === running.requestId).map(({ worker }) => worker)).toEqual(
        ['worker-1', 'worker-2'],
      );
      release.resolve(done);
      await world().mend();
      await mortal.transport.close();
      expect(results.slice(before).map(({ status }) => status)).toEqual(Array<string>(6).fill('succeeded'));
      const ids = results.map(({ requestId }) => requestId);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });
}
