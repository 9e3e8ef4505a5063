import { describe, expect, it } from 'vitest';
import type { BullQueues } from '../stores/bull-queue.js';
import { PlatformError } from '#common';
import { FairOrder, rebaseAt, tagsPerJob } from '../fairness/fair-order.js';
import type { JobEnvelope } from '../contract/job-definition.js';
import type { QueueTransport } from '../contract/transport.js';
import { done, echoJob, heartbeat, sleep, until } from './echo-job.conformance.js';
import { collectResults, consume, envelopeFor, type World } from './fixture.conformance.js';
import type { FairTurn } from '../contract/fair-turn.js';

export function describeFairness(world: () => World): void {
  describe('jobs of several accounts', () => {
    async function enqueue(api: QueueTransport, turn: FairTurn, text = turn.account): Promise<JobEnvelope> {
      const envelope = envelopeFor(api, { replyTo: null, payload: { text, count: 1 } });
      await api.producer.enqueue(echoJob(), envelope, { turn });
      return envelope;
    }

    async function enqueueMany(api: QueueTransport, turn: FairTurn, count: number): Promise<void> {
      const envelopes = Array.from({ length: count }, (_value, index) =>
        envelopeFor(api, { replyTo: null, payload: { text: `${turn.account}${index}`, count: 1 } }),
      );
      await api.producer.enqueueBulk(echoJob(), envelopes, { turnOf: () => turn });
    }

    /** Runs all waiting jobs one after the other; resolves to their texts. */
    async function runAll(api: QueueTransport, worker: QueueTransport, count: number): Promise<string[]> {
      const texts: string[] = [];
      const results = await collectResults(api);
      const handler = async ({ envelope }: { envelope: JobEnvelope<{ text: string }> }) => {
        texts.push(envelope.payload.text);
        return done;
      };
      await worker.consume({ definition: echoJob(), modelId: 'tiny-1.5', handler, concurrency: 1 });
      await until(() => results.length === count);
      return texts;
    }

    const waiting = async (api: QueueTransport) => (await api.producer.counts('echo', 'tiny-1.5')).waiting;

    it('take turns, whatever one of them has waiting, also from several replicas', async () => {
      const { api, worker } = await world().openPair();
      const other = await world().open('api-2');
      await enqueueMany(api, { account: 'flood' }, 30);
      await enqueue(other, { account: 'b' }, 'b0');
      await enqueue(api, { account: 'b' }, 'b1');
      await enqueue(other, { account: 'c' }, 'c0');
      expect(await waiting(api)).toBe(33);
      const texts = await runAll(api, worker, 33);
      expect(texts.slice(0, 5)).toEqual(['flood0', 'b0', 'c0', 'flood1', 'b1']);
      expect(texts.filter((text) => text.startsWith('flood'))).toEqual(
        Array.from({ length: 30 }, (_value, index) => `flood${index}`),
      );
    });

    it('get turns by their weight', async () => {
      const { api, worker } = await world().openPair();
      await enqueueMany(api, { account: 'light' }, 12);
      await enqueueMany(api, { account: 'heavy', weight: 4 }, 12);
      const texts = await runAll(api, worker, 24);
      const ofHeavy = texts.slice(0, 10).filter((text) => text.startsWith('heavy'));
      expect(ofHeavy.length).toBeGreaterThanOrEqual(7);
      expect(ofHeavy.length).toBeLessThanOrEqual(9);
    });

    it('keep their places when they were lost and enqueued again', async () => {
      const { api, worker } = await world().openPair();
      await enqueueMany(api, { account: 'a' }, 5);
      await enqueueMany(api, { account: 'b' }, 5);
      await enqueue(api, { account: 'a', isRecovered: true }, 'recovered');
      const texts = await runAll(api, worker, 11);
      expect(texts.indexOf('recovered')).toBeLessThanOrEqual(2);
    });

    it('run first when their worker hands them back, fails them for another try, or is lost', async () => {
      const { api, worker } = await world().openPair();
      const failing = echoJob({ attempts: 2 });
      await api.producer.enqueue(failing, envelopeFor(api, { replyTo: null, payload: { text: 'retried', count: 1 } }), {
        turn: { account: 'a' },
      });
      let runs = 0;
      const consumer = await consume(worker, async () => {
        runs += 1;
        throw new PlatformError('MODEL_AT_CAPACITY', 'No slot is free.');
      });
      await until(async () => runs === 1 && (await api.producer.counts('echo', 'tiny-1.5')).active === 0);
      await consumer.close(0);
      await enqueueMany(api, { account: 'a' }, 20);
      await enqueueMany(api, { account: 'b' }, 20);
      // The back-off is over by now, which the queue learns when a worker asks.
      await sleep(400);
      expect((await runAll(api, worker, 41))[0]).toBe('retried');
    });

    it('keep their turn while they wait for one worker', async () => {
      const api = (await world().openPair({ affinity: { stickyMs: 50 } })).api;
      const model = { modelId: 'tiny-1.5', modalities: ['echo'], state: 'ready' as const, slots: 64, running: 0 };
      for (const name of ['worker-a', 'worker-b']) {
        const { membership } = await world().open(name);
        if ('offerClaims' in membership)
          (membership as { offerClaims(queue: string): void }).offerClaims('echo.tiny-1.5');
        await membership.join(() => ({ ...heartbeat(name, null), models: [{ ...model, provider: 'cpu' }] }));
      }
      await until(() => api.membership.list().filter(({ claims }) => claims !== undefined).length === 2);
      await enqueueMany(api, { account: 'flood' }, 20);
      const envelope = envelopeFor(api, { payload: { text: 'sticky', count: 1 } });
      const replyStream = api.replies.open(envelope);
      await api.producer.enqueue(echoJob(), envelope, { routeKey: () => 'key', turn: { account: 'b' } });
      expect(await waiting(api)).toBe(21);
      // Nobody claims the job, so its delay ends.
      await sleep(400);
      const texts = await runAll(api, await world().open('worker-c'), 21);
      expect(texts.indexOf('sticky')).toBeLessThanOrEqual(1);
      replyStream.close();
    });

    it('are counted before the next one of an account', async () => {
      const { api } = await world().openPair();
      const ahead = (account: string) => api.producer.countAhead('echo', 'tiny-1.5', { account });
      expect(await ahead('a')).toBe(0);
      await enqueueMany(api, { account: 'flood' }, 10);
      await enqueueMany(api, { account: 'b' }, 3);
      expect(await ahead('flood')).toBe(13);
      expect(await ahead('c')).toBe(2);
      expect(await ahead('b')).toBe(7);
      await api.producer.enqueue(echoJob(), envelopeFor(api, { replyTo: null }));
      expect(await ahead('c')).toBe(3);
    });

    it('get the same places in the store as in FairOrder, across idle moments and rebases', async () => {
      const { api, worker } = await world().openPair();
      const model = new ModelQueue();
      const results = await collectResults(api);
      const taken: string[] = [];
      const add = async (random: () => number, text: string) => {
        const weight = random() < 0.5 ? 1 : 4;
        const turn = { account: 'abc'[Math.floor(random() * 3)]!, weight, isRecovered: random() < 0.1 };
        model.add(turn, text);
        await enqueue(api, turn, text);
      };
      const take = async (count: number) => {
        const end = taken.length + count;
        const handler = async ({ envelope }: { envelope: JobEnvelope<{ text: string }> }) => {
          taken.push(envelope.payload.text);
          if (taken.length === end) consumer.pause();
          return done;
        };
        const consumer = await worker.consume({ definition: echoJob(), modelId: 'tiny-1.5', handler, concurrency: 1 });
        await until(() => results.length === end);
        await consumer.close(0);
        model.take(count);
        expect(taken).toEqual(model.served);
      };
      const random = mulberry(7);
      for (let round = 0; round < 6; round += 1) {
        for (let job = 0; job < 20; job += 1) await add(random, `${round}-${job}`);
        if (round === 1) model.skip(await skipTurns(api));
        // The queue is empty once, right after the skipped turns.
        await take(round === 1 ? model.size : 14);
      }
      await take(model.size);
      expect(model.shiftsOfBacklog).toBeGreaterThan(0);
    });
  });
}

/** Predicts what the queue should do, with the pure algorithm. */
class ModelQueue {
  private readonly order = new FairOrder();
  private waiting: { text: string; tag: number }[] = [];
  readonly served: string[] = [];
  /** Counts the rebases while jobs waited. */
  shiftsOfBacklog = 0;

  get size(): number {
    return this.waiting.length;
  }

  add(turn: FairTurn, text: string): void {
    this.waiting.push({ text, tag: this.place([turn]) });
  }

  skip(calls: readonly (readonly FairTurn[])[]): void {
    for (const turns of calls) this.place(turns);
  }

  /** A worker takes the lowest tag; the sort keeps the order of arrival among equal ones. */
  take(count: number): void {
    this.waiting = this.waiting.toSorted((one, other) => one.tag - other.tag);
    this.served.push(...this.waiting.splice(0, count).map(({ text }) => text));
  }

  private place(turns: readonly FairTurn[]): number {
    const { order, waiting } = this;
    order.advance(waiting.length === 0 ? null : Math.min(...waiting.map(({ tag }) => tag)));
    const shift = order.rebase();
    if (shift > 0 && waiting.length > 0) this.shiftsOfBacklog += 1;
    for (const place of waiting) place.tag = Math.max(1, place.tag - shift);
    return turns.map((turn) => order.assign(turn)).at(-1)?.tag ?? 0;
  }
}

/** Brings the virtual time close to a rebase, as 65,000 jobs would, with turns that no job takes. */
async function skipTurns(api: QueueTransport): Promise<FairTurn[][]> {
  const { queues } = api.producer as unknown as { queues: BullQueues };
  const perCall = 500;
  const turns = rebaseAt / tagsPerJob - 8;
  const skipped = Array.from({ length: Math.ceil(turns / perCall) }, (_value, call) =>
    Array.from({ length: Math.min(perCall, turns - call * perCall) }, () => ({ account: 'skipped' })),
  );
  for (const turns of skipped) await queues.assignPlaces('echo.tiny-1.5', turns);
  return skipped;
}

/** A small generator of numbers from 0 to 1, the same in every run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
