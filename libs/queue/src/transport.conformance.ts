import { randomBytes } from 'node:crypto';
import { IsInt, IsString } from 'class-validator';
import { Cable } from './store-cable.conformance.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { createTransport } from './create-transport.js';
import { defineJob, type JobEnvelope, type JobPolicy } from './job-definition.js';
import type {
  ConsumerOptions,
  JobReport,
  MailboxEvent,
  MailboxSlot,
  Outcome,
  PresenceBeat,
  QueueTransport,
  TransportOptions,
} from './transport.js';

/** A store that the suite may stop and start; each `open` is one process. */
export interface ConformanceStore {
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

class EchoPayload {
  @IsString() text!: string;
  @IsInt() count!: number;
}

class EchoResult {}

interface DeltaEvent extends MailboxEvent {
  type: 'text-delta';
  text: string;
}

type EchoHandler = ConsumerOptions<EchoPayload, EchoResult>['handler'];

const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 5, reasoningTokens: 0 };
const done: JobReport = { usage, cancelled: false, executionMs: 1 };
const presence = { beatMs: 100, lostAfterMs: 1_500 };

function echoJob(policy: Partial<JobPolicy> = {}) {
  return defineJob({
    modality: 'echo',
    payload: EchoPayload,
    result: EchoResult,
    policy: { attempts: 1, lockMs: 5_000, deadlineMs: 60_000, stalledMax: 0, concurrency: 8, ...policy },
  });
}

/** Proves that a store keeps every promise of `transport.ts`. */
export function describeTransport(name: string, startStore: () => Promise<ConformanceStore>): void {
  describe(`${name} transport`, () => {
    let store: ConformanceStore;
    let namespace: string;
    const opened: QueueTransport[] = [];
    const cables: Cable[] = [];

    beforeAll(async () => {
      store = await startStore();
    });
    afterAll(() => store.close());
    afterEach(async () => {
      for (const cable of cables) cable.mend();
      await Promise.all(opened.splice(0).map((transport) => transport.close()));
      await Promise.all(cables.splice(0).map((cable) => cable.close()));
    });

    async function open(clientName = 'test', options: Partial<TransportOptions> = {}): Promise<QueueTransport> {
      const warn = () => undefined;
      const transport = await createTransport({ url: store.url, namespace, clientName, presence, warn, ...options });
      opened.push(transport);
      return transport;
    }

    /** A process that can die: `cut` its cable. */
    async function openMortal(clientName: string): Promise<{ transport: QueueTransport; cable: Cable }> {
      const cable = await Cable.to(store.url);
      cables.push(cable);
      return { transport: await open(clientName, { url: cable.url }), cable };
    }

    /** An api and a worker of a fresh installation. */
    async function openPair(): Promise<{ api: QueueTransport; worker: QueueTransport }> {
      namespace = `t${randomBytes(5).toString('hex')}`;
      const api = await open('api');
      const worker = await open('worker');
      await api.mailbox.start();
      return { api, worker };
    }

    function envelopeFor(api: QueueTransport, parts: Partial<JobEnvelope<EchoPayload>> = {}): JobEnvelope<EchoPayload> {
      return {
        requestId: `${randomBytes(8).toString('hex')}-TST`,
        modality: 'echo',
        modelId: 'tiny-1.5',
        attempt: 1,
        deadlineAtMs: Date.now() + 60_000,
        replyTo: api.mailbox.address,
        payload: { text: 'a', count: 1 },
        ...parts,
      };
    }

    function consume(worker: QueueTransport, handler: EchoHandler, policy: Partial<JobPolicy> = {}) {
      return worker.consume({ definition: echoJob(policy), modelId: 'tiny-1.5', handler });
    }

    /** Outcomes in the order they were processed. */
    async function collectOutcomes(transport: QueueTransport): Promise<Outcome[]> {
      const outcomes: Outcome[] = [];
      await transport.outcomes.process(async (outcome) => {
        outcomes.push(outcome);
      });
      return outcomes;
    }

    describe('jobs', () => {
      it('run with their payload, send events in order, and leave one outcome and nothing in the queue', async () => {
        const { api, worker } = await openPair();
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
        const { api, worker } = await openPair();
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
        const { api, worker } = await openPair();
        const second = await open('worker-2');
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
        const { api, worker } = await openPair();
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
        const { api, worker } = await openPair();
        const payload = { text: 5, count: 1 } as unknown as EchoPayload;
        const envelope = envelopeFor(api, { payload });
        const slot = api.mailbox.open(envelope.requestId);
        await consume(worker, async () => done);
        await api.producer.enqueue(echoJob(), envelope);
        const events = await readAll(slot);
        expect(events.at(-1)).toMatchObject({ type: 'job-failed', error: { code: 'INVALID_REQUEST', param: 'text' } });
      });

      it('fail for good when their error says never, and hide errors that are not ours', async () => {
        const { api, worker } = await openPair();
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
        const { api, worker } = await openPair();
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
        expect(outcomes).toMatchObject([{ attempt: 4, status: 'succeeded' }]);
      });

      it('fail after the last attempt with the error of that attempt', async () => {
        const { api, worker } = await openPair();
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
        expect(outcomes).toMatchObject([{ attempt: 2, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
      });

      it('are removed while they wait, and not once they run', async () => {
        const { api, worker } = await openPair();
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
        const { api } = await openPair();
        const outcomes = await collectOutcomes(api);
        const mortal = await openMortal('worker-2');
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
        await consume(await open('worker-3'), async () => done, { lockMs: 600 });
        expect(codeOfLast(await readAll(slot))).toBe('DEVICE_LOST');
        await until(async () => !(await holds(api, envelope)));
        mortal.cable.mend();
        release.resolve(done);
        await until(() => ended);
        await mortal.transport.close();
        expect(outcomes).toMatchObject([{ attempt: 1, status: 'failed', error: { code: 'DEVICE_LOST' } }]);
      });
    });

    describe('cancelling', () => {
      /** Runs until its signal aborts, then reports the usage so far. */
      const untilAborted: EchoHandler = ({ signal }) =>
        new Promise((resolve) => {
          const stop = () => resolve({ usage, cancelled: true, executionMs: 7 });
          if (signal.aborted) stop();
          else signal.addEventListener('abort', stop);
        });

      it('stops a running job and reports its usage', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
        await consume(worker, untilAborted);
        const envelope = envelopeFor(api);
        const slot = api.mailbox.open(envelope.requestId);
        const reader = slot[Symbol.asyncIterator]();
        await api.producer.enqueue(echoJob(), envelope);
        expect((await reader.next()).value).toEqual({ type: 'job-started' });
        await api.cancelBus.cancel(envelope.requestId);
        expect((await reader.next()).value).toMatchObject({ type: 'job-failed', error: { code: 'JOB_CANCELLED' } });
        await until(() => outcomes.length > 0);
        expect(outcomes).toMatchObject([
          { status: 'cancelled', error: { code: 'JOB_CANCELLED' }, usage, executionMs: 7 },
        ]);
      });

      it('keeps a job from running when the cancel came before its pickup', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
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
        await until(() => outcomes.length > 0);
        expect(outcomes).toMatchObject([{ status: 'cancelled', usage: null }]);
        expect(ran).toBe(false);
      });

      it('happens by itself at the deadline, with the usage so far', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
        await consume(worker, untilAborted);
        const envelope = envelopeFor(api, { deadlineAtMs: Date.now() + 400 });
        const slot = api.mailbox.open(envelope.requestId);
        await api.producer.enqueue(echoJob(), envelope);
        expect(codeOfLast(await readAll(slot))).toBe('REQUEST_TIMEOUT');
        await until(() => outcomes.length > 0);
        expect(outcomes).toMatchObject([{ status: 'failed', error: { code: 'REQUEST_TIMEOUT' }, usage }]);
      });

      it('happens by itself when the api that waits is gone, running or queued', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(worker);
        const { transport: lost, cable } = await openMortal('api-2');
        await lost.mailbox.start();
        await lost.presence.join(() => beat('api-2', lost.mailbox.address));
        await until(() => worker.presence.list().some(({ processId }) => processId === 'api-2'));
        await worker.consume({ definition: echoJob(), modelId: 'tiny-1.5', handler: untilAborted, concurrency: 1 });
        const envelopes = [envelopeFor(lost), envelopeFor(lost)];
        await api.producer.enqueueBulk(echoJob(), envelopes);
        await until(async () => (await api.producer.counts('echo', 'tiny-1.5')).active === 1);
        cable.cut();
        await until(() => outcomes.length === 2);
        expect(outcomes).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
      });

      it('gives running jobs back as MODEL_AT_CAPACITY when the worker stops and its grace is over', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
        const consumer = await consume(worker, untilAborted);
        const envelope = envelopeFor(api);
        const slot = api.mailbox.open(envelope.requestId);
        const reader = slot[Symbol.asyncIterator]();
        await api.producer.enqueue(echoJob(), envelope);
        await reader.next();
        await consumer.close(50);
        expect((await reader.next()).value).toMatchObject({ error: { code: 'MODEL_AT_CAPACITY' } });
        await until(() => outcomes.length > 0);
        expect(outcomes).toMatchObject([{ status: 'failed', usage }]);
      });

      it('is not needed when running jobs end within the grace, and no further job is taken', async () => {
        const { api, worker } = await openPair();
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
        const [first, second] = envelopes.map(({ requestId }) => api.mailbox.open(requestId));
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

    describe('mailbox', () => {
      it('carries 100 000 deltas of 100 requests, in order, with none lost or repeated', async () => {
        const { api, worker } = await openPair();
        const requests = Array.from({ length: 100 }, (_value, index) => `request-${index}`);
        const reading = requests.map(async (requestId) => {
          const texts: string[] = [];
          for await (const event of api.mailbox.open(requestId)) {
            if (event.type === 'text-delta') texts.push((event as DeltaEvent).text);
          }
          return texts;
        });
        const writers = requests.map((requestId) => worker.mailbox.writer(api.mailbox.address, requestId));
        for (let step = 0; step < 1_000; step += 1) {
          for (const writer of writers) writer.send(delta(`token ${step} `));
          if (step % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        for (const writer of writers) writer.send({ type: 'job-finished' });
        const expected = Array.from({ length: 1_000 }, (_value, step) => `token ${step} `);
        for (const texts of await Promise.all(reading)) expect(texts).toEqual(expected);
      });

      it('loses nothing when its reader is cut off in the middle, nor when the last event fell into the gap', async () => {
        const { worker } = await openPair();
        const { transport: api, cable } = await openMortal('api-2');
        await api.mailbox.start();
        const requests = ['early', 'late'];
        const [early, late] = requests.map((requestId) => readAll(api.mailbox.open(requestId)));
        const writers = requests.map((requestId) => worker.mailbox.writer(api.mailbox.address, requestId));
        for (let index = 0; index < 300; index += 1) {
          if (index === 100) cable.cut();
          if (index === 200) cable.mend();
          if (index < 150) writers[0]?.send(delta(`${index}`));
          if (index === 150) writers[0]?.send({ type: 'job-finished' });
          writers[1]?.send(delta(`${index}`));
          await sleep(2);
        }
        writers[1]?.send({ type: 'job-finished' });
        expect(await early).toEqual([...numbered(150), { type: 'job-finished' }]);
        expect(await late).toEqual([...numbered(300), { type: 'job-finished' }]);
      });

      it('carries events larger than any message of the store, in every script', async () => {
        const { api, worker } = await openPair();
        const slot = api.mailbox.open('large');
        const writer = worker.mailbox.writer(api.mailbox.address, 'large');
        const texts = ['é', '字', '🙂', '\u0000', 'a'].map((text) => text.repeat(20_000));
        for (const text of texts) writer.send(delta(text));
        writer.send({ type: 'job-finished' });
        expect(await readAll(slot)).toEqual([...texts.map(delta), { type: 'job-finished' }]);
      });

      it('ends a slot with an error when its reader is slower for longer than the buffer lasts', async () => {
        const { worker } = await openPair();
        const api = await open('api-2', { slotBytes: 10_000 });
        await api.mailbox.start();
        const slow = api.mailbox.open('slow');
        const quick = api.mailbox.open('quick');
        const writers = ['slow', 'quick'].map((requestId) => worker.mailbox.writer(api.mailbox.address, requestId));
        const reading = readAll(quick);
        for (let index = 0; index < 50; index += 1) {
          for (const writer of writers) writer.send(delta('x'.repeat(500)));
          await sleep(1);
        }
        for (const writer of writers) writer.send({ type: 'job-finished' });
        expect(await reading).toHaveLength(51);
        await expect(readAll(slow)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
      });

      it('drops events for requests nobody waits for', async () => {
        const { api, worker } = await openPair();
        const closed = api.mailbox.open('closed');
        closed.close();
        worker.mailbox.writer(api.mailbox.address, 'closed').send(delta('x'));
        worker.mailbox.writer(api.mailbox.address, 'unknown').send(delta('x'));
        worker.mailbox.writer('nobody-lives-here', 'unknown').send(delta('x'));
        const slot = api.mailbox.open('open');
        worker.mailbox.writer(api.mailbox.address, 'open').send({ type: 'job-finished' });
        expect(await readAll(slot)).toEqual([{ type: 'job-finished' }]);
        expect(await readAll(closed)).toEqual([]);
      });

      it('keeps two processes apart', async () => {
        const { api, worker } = await openPair();
        const other = await open('api-2');
        await other.mailbox.start();
        const slots = [api, other].map((transport) => transport.mailbox.open('same'));
        worker.mailbox.writer(api.mailbox.address, 'same').send(delta('one'), { type: 'job-finished' });
        worker.mailbox.writer(other.mailbox.address, 'same').send(delta('two'), { type: 'job-finished' });
        expect(await readAll(slots[0])).toEqual([delta('one'), { type: 'job-finished' }]);
        expect(await readAll(slots[1])).toEqual([delta('two'), { type: 'job-finished' }]);
      });
    });

    describe('presence', () => {
      it('shows who is there, what changed, and who said good-bye', async () => {
        const { api, worker } = await openPair();
        const model = {
          modelId: 'm',
          modality: 'echo',
          state: 'loading',
          slots: 4,
          running: 0,
          provider: 'cpu',
        } as const;
        let state: 'loading' | 'ready' = 'loading';
        let changes = 0;
        api.presence.onChange(() => {
          changes += 1;
        });
        await worker.presence.join(() => ({
          processId: 'w1',
          role: 'worker',
          mailboxAddress: null,
          models: [{ ...model, state }],
        }));
        await until(() => api.presence.list().length === 1);
        expect(api.presence.list()[0]?.models[0]?.state).toBe('loading');
        state = 'ready';
        await worker.presence.announce();
        await until(() => api.presence.list()[0]?.models[0]?.state === 'ready');
        await worker.close();
        await until(() => api.presence.list().length === 0);
        expect(changes).toBeGreaterThanOrEqual(3);
      });

      it('loses a process that falls silent', async () => {
        const { api } = await openPair();
        const { transport, cable } = await openMortal('worker-2');
        await transport.presence.join(() => beat('w2', null));
        await until(() => api.presence.list().length === 1);
        cable.cut();
        await until(() => api.presence.list().length === 0);
      });

      it('shows those already there to one that comes later', async () => {
        const { api, worker } = await openPair();
        await worker.presence.join(() => beat('w1', null));
        const late = await open('api-2');
        await late.presence.join(() => beat('a2', null));
        await until(() => late.presence.list().length === 2 && api.presence.list().length === 2);
      });
    });

    describe('outcomes', () => {
      const outcomeOf = (requestId: string): Outcome => ({
        requestId,
        attempt: 1,
        status: 'succeeded',
        error: null,
        usage,
        executionMs: 1,
        finishedAtMs: 0,
      });

      it('are processed again when their handler fails, the others once', async () => {
        const { api } = await openPair();
        const ids = Array.from({ length: 30 }, (_value, index) => `r${index}`);
        const seen: string[] = [];
        await Promise.all(ids.map((id) => api.outcomes.report(outcomeOf(id))));
        await api.outcomes.process(async ({ requestId }) => {
          seen.push(requestId);
          if (requestId === 'r7' && seen.filter((id) => id === 'r7').length < 3) throw new Error('database is away');
        });
        await until(() => seen.length === ids.length + 2);
        expect(new Set(seen)).toEqual(new Set(ids));
        expect(seen.filter((id) => id === 'r7')).toHaveLength(3);
      });

      it('survive a processor that dies with them', async () => {
        const { api } = await openPair();
        const mortal = await openMortal('ops-2');
        const release = deferred<void>();
        let taken = false;
        await mortal.transport.outcomes.process(() => {
          taken = true;
          return release.promise;
        });
        await api.outcomes.report(outcomeOf('r1'));
        await until(() => taken);
        mortal.cable.cut();
        const outcomes = await collectOutcomes(api);
        await until(() => outcomes.length > 0, 40_000);
        expect(outcomes).toEqual([outcomeOf('r1')]);
        release.resolve();
      });
    });

    describe('when the store goes away', () => {
      it('answers SERVICE_UNAVAILABLE soon, and serves again once it is back', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
        await consume(worker, async () => done);
        await api.ping();
        await store.stop();
        const unavailable = { code: 'SERVICE_UNAVAILABLE' };
        try {
          const before = performance.now();
          await expect(api.producer.enqueue(echoJob(), envelopeFor(api))).rejects.toMatchObject(unavailable);
          await expect(api.producer.counts('echo', 'tiny-1.5')).rejects.toMatchObject(unavailable);
          await expect(api.cancelBus.cancel('r')).rejects.toMatchObject(unavailable);
          await expect(api.ping()).rejects.toMatchObject(unavailable);
          // Four operations of which each may take its limit: anything more is a hang.
          expect(performance.now() - before).toBeLessThan(10_000);
        } finally {
          await store.start();
        }
        await until(() => settled(api.ping()), 10_000);
        const envelope = envelopeFor(api);
        const slot = api.mailbox.open(envelope.requestId);
        await until(() => settled(api.producer.enqueue(echoJob(), envelope)), 10_000);
        expect((await readAll(slot)).at(-1)).toEqual({ type: 'job-finished', usage });
        await until(() => outcomes.some(({ requestId }) => requestId === envelope.requestId), 10_000);
      });

      it('loses no accepted job and no outcome over restarts', async () => {
        const { api, worker } = await openPair();
        const outcomes = await collectOutcomes(api);
        await consume(worker, async () => done, { stalledMax: 5, lockMs: 3_000 });
        const accepted: string[] = [];
        for (let round = 1; round <= 2; round += 1) {
          const restarting = store.stop().then(() => store.start());
          const enough = accepted.length + 20;
          await until(async () => {
            const envelope = envelopeFor(api, { replyTo: null });
            const taken = await settled(api.producer.enqueue(echoJob({ stalledMax: 5, attempts: 5 }), envelope));
            if (taken) accepted.push(envelope.requestId);
            return accepted.length >= enough;
          });
          await restarting;
        }
        const seen = () => new Set(outcomes.map(({ requestId }) => requestId));
        await until(() => accepted.every((requestId) => seen().has(requestId)), 40_000);
        expect(accepted.length).toBeGreaterThanOrEqual(40);
      });

      it('carries the events of a stream over a restart', async () => {
        const { api, worker } = await openPair();
        const reading = readAll(api.mailbox.open('stream'));
        const writer = worker.mailbox.writer(api.mailbox.address, 'stream');
        let restart: Promise<void> | null = null;
        for (let index = 0; index < 300; index += 1) {
          if (index === 100) restart = store.stop().then(() => store.start());
          writer.send(delta(`${index}`));
          await sleep(2);
        }
        await restart;
        writer.send({ type: 'job-finished' });
        expect(await reading).toEqual([...numbered(300), { type: 'job-finished' }]);
      });

      it('keeps presence: nobody is lost because nobody could be heard', async () => {
        const { api, worker } = await openPair();
        await worker.presence.join(() => beat('w1', null));
        await until(() => api.presence.list().length === 1);
        await store.stop();
        await store.start();
        await until(() => settled(api.ping()), 10_000);
        await until(() => settled(worker.ping()), 10_000);
        await sleep(presence.lostAfterMs * 2);
        expect(api.presence.list().map(({ processId }) => processId)).toEqual(['w1']);
      });
    });
  });
}

function delta(text: string): DeltaEvent {
  return { type: 'text-delta', text };
}

function numbered(count: number): DeltaEvent[] {
  return Array.from({ length: count }, (_value, index) => delta(`${index}`));
}

function beat(processId: string, mailboxAddress: string | null): Omit<PresenceBeat, 'alive'> {
  return { processId, role: mailboxAddress === null ? 'worker' : 'api', mailboxAddress, models: [] };
}

function codeOfLast(events: MailboxEvent[]): string | undefined {
  const last = events.at(-1) as { error?: { code: string } } | undefined;
  return last?.error?.code;
}

async function readAll(slot: MailboxSlot | undefined): Promise<MailboxEvent[]> {
  const events: MailboxEvent[] = [];
  for await (const event of slot ?? []) events.push(event);
  return events;
}

function holds(transport: QueueTransport, { modality, modelId, requestId }: JobEnvelope): Promise<boolean> {
  return transport.producer.holds(modality, modelId, requestId);
}

function settled(operation: Promise<unknown>): Promise<boolean> {
  return operation.then(
    () => true,
    () => false,
  );
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await sleep(10);
  }
}
