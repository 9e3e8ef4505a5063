import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BatchScheduler } from './batch-scheduler.js';
import { FakeGraphSession, type FakeOptions, greedyAlone } from './fake-graph-session.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';
import type { SchedulerOptions } from './sequence-scheduler.js';

type Harness = ReturnType<typeof start>;

const open: BatchScheduler[] = [];
afterEach(async () => {
  for (const scheduler of open.splice(0)) await scheduler.close();
});

function start(options: FakeOptions & Partial<Omit<SchedulerOptions, 'decoder'>> = {}) {
  const session = new FakeGraphSession(options);
  const slots = options.slots ?? 4;
  const decoder = openDecoder(session, { slots });
  const scheduler = new BatchScheduler({
    decoder,
    slots,
    spareSlots: options.spareSlots,
    contextLength: options.contextLength ?? 4096,
    cacheTokens: options.cacheTokens ?? 16_384,
    afterStep: options.afterStep,
  });
  open.push(scheduler);
  let count = 0;
  const submit = (
    prompt: readonly number[],
    members: Partial<SequenceRequest> = {},
    onEach?: ConstructorParameters<typeof RecordingListener>[0],
  ): RecordingListener => {
    const listener = new RecordingListener(onEach);
    scheduler.submit(sequenceRequest({ id: `s${count++}`, prompt, listener, ...members }));
    return listener;
  };
  return { session, decoder, scheduler, submit };
}

const promptOf = (length: number, first = 1): number[] =>
  Array.from({ length }, (_, index) => (first * 7 + index * index * 3) % 89);

const computedTokens = ({ session }: Harness): number =>
  session.runs.filter(({ steps }) => steps > 1).reduce((sum, { batch, steps }) => sum + batch * steps, 0);

describe('BatchScheduler', () => {
  it('continues every sequence as if it were alone, whatever joins and leaves the batch', async () => {
    const sequence = fc.record({
      prompt: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 200 }),
      maxNewTokens: fc.integer({ min: 1, max: 90 }),
      delayMs: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(sequence, { minLength: 1, maxLength: 10 }), async (sequences) => {
        const held: number[] = [];
        const afterStep = (): void => void held.push(harness.scheduler.stats().cacheTokens);
        const harness = start({ slots: 3, cacheTokens: 700, afterStep });
        const listeners = sequences.map(async ({ prompt, maxNewTokens, delayMs }) => {
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          return harness.submit(prompt, { maxNewTokens }).done;
        });
        const ended = await Promise.all(listeners);
        ended.forEach((listener, index) => {
          const { prompt = [], maxNewTokens = 0 } = sequences[index] ?? {};
          expect(listener.failure).toBeNull();
          expect(listener.tokens).toEqual(greedyAlone(prompt, maxNewTokens));
          expect(listener.end).toBe('length');
        });
        expect(Math.max(...held)).toBeLessThanOrEqual(700);
        await harness.scheduler.close();
      }),
      { numRuns: 25 },
    );
  });

  it('starts what may use a spare slot before the waiting ones, beyond its slots, and keeps every text', async () => {
    const started: string[] = [];
    const harness = start({ slots: 2, spareSlots: 1 });
    const { submit, scheduler } = harness;
    const noting =
      (name: string, andThen: () => void = () => undefined) =>
      (_token: number, count: number) => {
        if (count === 1) started.push(name);
        if (count === 3) andThen();
        return undefined;
      };
    const spare: RecordingListener[] = [];
    let mostRunning = 0;
    const submitSpare = () => {
      const members = { mayUseSpareSlot: true, maxNewTokens: 8 };
      const count = () => (mostRunning = Math.max(mostRunning, scheduler.stats().running));
      spare.push(submit(promptOf(5, 4), members, noting('spare', count)));
      spare.push(submit(promptOf(5, 5), members, noting('second spare', count)));
    };
    const full = [
      submit(promptOf(5, 1), { maxNewTokens: 60 }, noting('running', submitSpare)),
      submit(promptOf(5, 2), { maxNewTokens: 60 }, noting('running too')),
      submit(promptOf(5, 3), { maxNewTokens: 60 }, noting('waiting')),
    ];
    await Promise.all(full.map(({ done }) => done));
    await Promise.all(spare.map(({ done }) => done));
    expect(started).toEqual(['running', 'running too', 'spare', 'second spare', 'waiting']);
    expect(mostRunning).toBe(3);
    for (const [index, { tokens }] of full.entries()) expect(tokens).toEqual(greedyAlone(promptOf(5, index + 1), 60));
    for (const [index, { tokens }] of spare.entries()) expect(tokens).toEqual(greedyAlone(promptOf(5, index + 4), 8));
  });

  it('admits in order of arrival and fills a free slot in the next step', async () => {
    const order: number[] = [];
    const harness = start({ slots: 2 });
    const all = [5, 3, 4, 3, 3].map((maxNewTokens, index) =>
      harness.submit(promptOf(4, index + 1), { maxNewTokens }, (_, count) => {
        if (count === 1) order.push(index);
        return undefined;
      }),
    );
    await Promise.all(all.map(({ done }) => done));
    expect(order).toEqual([0, 1, 2, 3, 4]);
    const decodes = harness.session.runs.filter(({ steps }) => steps === 1);
    // Two rows in every decode step except the first and the last ones: no slot is idle while a sequence waits.
    expect(decodes.slice(0, -2).every(({ batch }) => batch === 2)).toBe(true);
  });

  it('continues running streams between the chunks of a long prompt', async () => {
    const harness = start();
    const stream = harness.submit(promptOf(5), { maxNewTokens: 60 });
    const long = harness.submit(promptOf(640, 2), { maxNewTokens: 2 });
    await Promise.all([stream.done, long.done]);
    const kinds = harness.session.runs.map(({ steps }) => (steps > 1 ? 'prefill' : 'decode'));
    const sizes = harness.session.runs.map(({ batch, steps }) => batch * steps);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
    const betweenChunks = kinds.slice(kinds.indexOf('decode')).join().includes('prefill,prefill');
    expect(betweenChunks).toBe(false);
    expect(kinds.filter((kind) => kind === 'prefill')).toHaveLength(11);
  });

  it('lets a short prompt pass a long one that is being computed', async () => {
    const harness = start();
    let stepsOfLong = 0;
    const long = harness.submit(promptOf(1280, 2), { maxNewTokens: 1 }, () => {
      stepsOfLong = harness.session.runs.length;
      return undefined;
    });
    const short = harness.submit(promptOf(10, 3), { maxNewTokens: 1 });
    await short.done;
    const stepsOfShort = harness.session.runs.length;
    await long.done;
    expect(stepsOfShort).toBeLessThanOrEqual(3);
    expect(stepsOfLong).toBeGreaterThan(20);
  });

  it('computes short prompts together', async () => {
    const harness = start({ slots: 8 });
    const all = [3, 5, 9, 12, 20, 40].map((length, index) => harness.submit(promptOf(length, index + 1)));
    await Promise.all(all.map(({ done }) => done));
    const shared = harness.session.runs.filter(({ batch, steps }) => steps > 1 && batch > 1);
    expect(shared.length).toBeGreaterThan(0);
    expect(shared.every(({ batch, steps }) => batch * steps <= 4 * 64)).toBe(true);
  });

  it('ends a cancelled sequence before its next token and frees its slot immediately', async () => {
    const harness = start({ slots: 1 });
    const first = harness.submit(promptOf(5), { id: 'gone', maxNewTokens: 500 }, (_, count) => {
      if (count === 3) harness.scheduler.cancel('gone');
      return undefined;
    });
    const second = harness.submit(promptOf(6, 2), { maxNewTokens: 2 });
    await first.done;
    expect(first.end).toBe('cancelled');
    expect(first.tokens).toHaveLength(3);
    const runsAtCancel = harness.session.runs.length;
    await second.done;
    // One prefill and one decode: no run was spent on a cancelled row.
    expect(harness.session.runs.length - runsAtCancel).toBeLessThanOrEqual(2);
    expect(harness.session.runs.at(-1)?.batch).toBe(1);
  });

  it('cancels while waiting and while computing a prompt', async () => {
    const harness = start({ slots: 1 });
    const long = harness.submit(promptOf(2000), { id: 'long' });
    const waiting = harness.submit(promptOf(5), { id: 'waiting' });
    harness.scheduler.cancel('waiting');
    await waiting.done;
    harness.scheduler.cancel('long');
    harness.scheduler.cancel('nobody');
    await long.done;
    expect([waiting.end, long.end]).toEqual(['cancelled', 'cancelled']);
    expect([waiting.cachedTokens, long.cachedTokens]).toEqual([null, null]);
    expect(harness.session.runs.length).toBeLessThanOrEqual(2);
  });

  it('copies the longest prefix of a finished sequence and computes the rest', async () => {
    const harness = start();
    const shared = promptOf(300);
    const first = await harness.submit([...shared, 1, 2, 3], { maxNewTokens: 10 }).done;
    expect(first.cachedTokens).toBe(0);
    const before = computedTokens(harness);
    const prompt = [...shared, 1, 2, 9, 9];
    const second = await harness.submit(prompt, { maxNewTokens: 10 }).done;
    expect(second.cachedTokens).toBe(302);
    expect(computedTokens(harness) - before).toBe(2);
    expect(second.tokens).toEqual(greedyAlone(prompt, 10));
    // The next turn of a conversation: prompt and completion together.
    const turn = [...prompt, ...second.tokens, 5, 6];
    const third = await harness.submit(turn, { maxNewTokens: 4 }).done;
    expect(third.cachedTokens).toBe(302 + 2 + 9);
    expect(third.tokens).toEqual(greedyAlone(turn, 4));
    expect(harness.scheduler.stats().cachedTokensTotal).toBe(302 + 313);
  });

  it('copies only whole chunks for a seeded sequence, computed as it would compute them', async () => {
    const harness = start();
    const seeded = { sampling: { temperature: 0, seed: 1 }, maxNewTokens: 3 };
    const shared = promptOf(100);
    await harness.submit([...shared, 1], { maxNewTokens: 3 }).done;
    // Starts in the middle of a chunk, so everything after its first 64 tokens differs from a computation from scratch.
    const turn = [...shared, 1, ...promptOf(200, 2)];
    expect((await harness.submit(turn, { maxNewTokens: 3 }).done).cachedTokens).toBe(101);
    expect((await harness.submit(turn, seeded).done).cachedTokens).toBe(64);
    expect((await harness.submit(turn, seeded).done).cachedTokens).toBe(256);
    expect((await harness.submit(shared.slice(0, 60), seeded).done).cachedTokens).toBe(0);
    expect((await harness.submit(turn, { maxNewTokens: 3 }).done).cachedTokens).toBe(300);
  });

  it('copies from a running sequence, and always computes the last token', async () => {
    const harness = start();
    const prompt = promptOf(120);
    const copies: RecordingListener[] = [];
    const first = harness.submit(prompt, { maxNewTokens: 40 }, (_, count) => {
      if (count === 2) copies.push(harness.submit(prompt, { maxNewTokens: 5 }));
      return undefined;
    });
    await first.done;
    const [copy] = await Promise.all(copies.map(({ done }) => done));
    expect(copy?.cachedTokens).toBe(119);
    expect(copy?.tokens).toEqual(first.tokens.slice(0, 5));
  });

  it('computes a prompt once for all choices that share it', async () => {
    const harness = start({ slots: 8 });
    const prompt = promptOf(150);
    const all = Array.from({ length: 6 }, () => harness.submit(prompt, { maxNewTokens: 3 }));
    await Promise.all(all.map(({ done }) => done));
    expect(computedTokens(harness)).toBe(150);
    expect(all.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 149, 149, 149, 149, 149]);
    for (const { tokens } of all) expect(tokens).toEqual(greedyAlone(prompt, 3));
  });

  it('stays within its token limit by evicting the least recently used prefix first', async () => {
    const max: number[] = [];
    const harness = start({
      slots: 2,
      cacheTokens: 400,
      afterStep: () => max.push(harness.scheduler.stats().cacheTokens),
    });
    const prompts = [1, 2, 3, 4, 5].map((first) => promptOf(120, first));
    for (const prompt of prompts) await harness.submit(prompt, { maxNewTokens: 2 }).done;
    expect(Math.max(...max)).toBeLessThanOrEqual(400);
    const again = await harness.submit([...(prompts[4] ?? []), 1], { maxNewTokens: 1 }).done;
    const forgotten = await harness.submit([...(prompts[0] ?? []), 1], { maxNewTokens: 1 }).done;
    expect([again.cachedTokens, forgotten.cachedTokens]).toEqual([120, 0]);
  });

  it('keeps the prefix that was used last, not the one that was added last', async () => {
    const harness = start({ slots: 1, cacheTokens: 400 });
    const [first, second, third] = [1, 2, 3].map((start) => promptOf(120, start)) as [number[], number[], number[]];
    const run = async (prompt: number[]): Promise<number | null> =>
      (await harness.submit(prompt, { maxNewTokens: 2 }).done).cachedTokens;
    await run(first);
    await run(second);
    expect(await run([...first.slice(0, 100), ...promptOf(10, 9)])).toBe(100);
    await run(third);
    expect([await run(first), await run(second)]).toEqual([119, 0]);
  });

  it('makes a sequence wait until the worst case of earlier ones leaves room', async () => {
    const harness = start({ slots: 4, cacheTokens: 300 });
    let running = 0;
    const track = (): undefined => {
      running = Math.max(running, harness.scheduler.stats().running);
    };
    const all = [1, 2, 3].map((first) => harness.submit(promptOf(100, first), { maxNewTokens: 40 }, track));
    await Promise.all(all.map(({ done }) => done));
    expect(running).toBe(2);
    expect(all.every(({ end }) => end === 'length')).toBe(true);
  });

  it('draws by the seed only, whatever else is in the batch', async () => {
    const harness = start({ slots: 8, topSize: 6 });
    const sampling = { temperature: 0.9, topP: 0.97, seed: 42 };
    const alone = await harness.submit(promptOf(9), { sampling, maxNewTokens: 40 }).done;
    const noise = [1, 2, 3, 4].map((first) =>
      harness.submit(promptOf(first * 20, first), {
        maxNewTokens: 70,
        sampling: first % 2 === 0 ? { frequencyPenalty: 0.5 } : { temperature: 1.5 },
      }),
    );
    const crowded = await harness.submit(promptOf(9), { sampling, maxNewTokens: 40 }).done;
    await Promise.all(noise.map(({ done }) => done));
    expect(crowded.tokens).toEqual(alone.tokens);
    const other = await harness.submit(promptOf(9), { sampling: { ...sampling, seed: 43 }, maxNewTokens: 40 }).done;
    expect(other.tokens).not.toEqual(alone.tokens);
  });

  it('fetches all logits only in steps where a row needs them', async () => {
    const harness = start();
    await harness.submit(promptOf(5), { maxNewTokens: 10 }).done;
    const plain = harness.session.runs.filter(({ steps }) => steps === 1);
    expect(plain.every(({ fetches }) => !fetches.includes('logits'))).toBe(true);
    const before = harness.session.runs.length;
    await harness.submit(promptOf(5), { maxNewTokens: 10, sampling: { repetitionPenalty: 1.2 } }).done;
    expect(harness.session.runs.slice(before).every(({ fetches }) => fetches.includes('logits'))).toBe(true);
  });

  it('returns log-probabilities that do not depend on what was fetched', async () => {
    const few = await start({ topSize: 8 }).submit(promptOf(5), { topLogprobs: 3, maxNewTokens: 4 }).done;
    const all = await start({ topSize: 2 }).submit(promptOf(5), { topLogprobs: 3, maxNewTokens: 4 }).done;
    expect(few.scores.map((score) => score?.top.length)).toEqual([3, 3, 3, 3]);
    few.scores.forEach((score, index) => {
      expect(score?.top[0]?.id).toBe(few.tokens[index]);
      expect(score?.logprob).toBeCloseTo(all.scores[index]?.logprob ?? 0, 5);
      expect(score?.top[2]?.id).toBe(all.scores[index]?.top[2]?.id);
    });
  });

  it('ends at EOS and stop tokens without passing them on, and when the listener stops it', async () => {
    const harness = start();
    const [first = 0, second = 0, third = 0] = greedyAlone(promptOf(5), 3);
    const eos = await harness.submit(promptOf(5), { eosTokenIds: new Set([third]) }).done;
    const stopToken = await harness.submit(promptOf(5), { stopTokenIds: new Set([second]) }).done;
    const stopped = await harness.submit(promptOf(5), {}, (_, count) => (count === 2 ? 'stop' : undefined)).done;
    expect([eos.end, eos.tokens]).toEqual(['eos', [first, second]]);
    expect([stopToken.end, stopToken.tokens]).toEqual(['stop-token', [first]]);
    expect([stopped.end, stopped.tokens]).toEqual(['stopped', [first, second]]);
  });

  it('fails the sequences of a failed run and serves the next ones', async () => {
    let isBroken = false;
    const harness = start({
      beforeRun: ({ steps }) => {
        if (isBroken && steps === 1) throw new Error('out of memory');
      },
    });
    const all = [1, 2].map((first) =>
      harness.submit(promptOf(5, first), { maxNewTokens: 50 }, (_, count) => {
        isBroken = count > 5;
        return undefined;
      }),
    );
    await Promise.all(all.map(({ done }) => done));
    for (const { failure } of all) expect(failure).toMatchObject({ code: 'INFERENCE_FAILED' });
    isBroken = false;
    const next = await harness.submit(promptOf(5), { maxNewTokens: 4 }).done;
    expect(next.tokens).toEqual(greedyAlone(promptOf(5), 4));
    expect(harness.scheduler.stats().running).toBe(0);
  });

  it('fails a row whose numbers are not finite, and no other row', async () => {
    const harness = start({ poisonToken: 95, slots: 2 });
    const healthy = harness.submit(promptOf(6), { maxNewTokens: 30 });
    // Longer than the sequence that follows, so its data would remain beyond the end of the next row.
    const poisoned = harness.submit([95, ...promptOf(40)], { maxNewTokens: 30 });
    const after = harness.submit(promptOf(7, 3), { maxNewTokens: 30 });
    await Promise.all([healthy.done, poisoned.done, after.done]);
    expect(poisoned.failure).toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(healthy.tokens).toEqual(greedyAlone(promptOf(6), 30));
    expect(after.tokens).toEqual(greedyAlone(promptOf(7, 3), 30));
  });

  it.each(['copyPrefix', 'openRow'] as const)(
    'fails only the sequence for which %s runs out of memory',
    async (method) => {
      const harness = start();
      const noMemory = (): never => {
        throw new RangeError('Array buffer allocation failed');
      };
      const unlucky: RecordingListener[] = [];
      const stream = harness.submit(promptOf(60), { maxNewTokens: 40 }, (_, count) => {
        if (count !== 2) return undefined;
        vi.spyOn(harness.decoder, method).mockImplementationOnce(noMemory);
        unlucky.push(harness.submit(promptOf(60)));
        return undefined;
      });
      await stream.done;
      const [failed] = await Promise.all(unlucky.map(({ done }) => done));
      expect(failed?.failure).toMatchObject({ code: 'INFERENCE_FAILED' });
      expect(stream.tokens).toEqual(greedyAlone(promptOf(60), 40));
      const next = await harness.submit(promptOf(60), { maxNewTokens: 4 }).done;
      expect(next.tokens).toEqual(greedyAlone(promptOf(60), 4));
      expect(harness.scheduler.stats()).toMatchObject({ running: 0, waiting: 0 });
    },
  );

  it('recomputes a prefix that could not be kept for lack of memory', async () => {
    const harness = start();
    vi.spyOn(harness.decoder, 'retain').mockImplementationOnce(() => {
      throw new RangeError('Array buffer allocation failed');
    });
    const first = await harness.submit(promptOf(60), { maxNewTokens: 4 }).done;
    expect([first.end, harness.scheduler.stats().cacheTokens]).toEqual(['length', 0]);
    const second = await harness.submit(promptOf(60), { maxNewTokens: 4 }).done;
    expect([second.cachedTokens, second.tokens]).toEqual([0, first.tokens]);
  });

  it('ends only the sequence whose listener throws', async () => {
    const harness = start();
    const bad = harness.submit(promptOf(5), {}, () => {
      throw new Error('listener broke');
    });
    const good = harness.submit(promptOf(6, 2));
    await Promise.all([bad.done, good.done]);
    expect(bad.failure).toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(good.end).toBe('length');
  });

  it('rejects invalid requests through the listener, never inside submit', async () => {
    const harness = start({ contextLength: 100, cacheTokens: 80 });
    const tooLong = harness.submit(promptOf(95), { maxNewTokens: 6 });
    const tooMuchCache = harness.submit(promptOf(50), { maxNewTokens: 40 });
    const empty = harness.submit([]);
    const running = harness.submit(promptOf(5), { id: 'twice' });
    const twice = harness.submit(promptOf(5), { id: 'twice' });
    expect(tooLong.failure).toBeNull();
    await Promise.all([tooLong, tooMuchCache, empty, running, twice].map(({ done }) => done));
    expect(tooLong.failure).toMatchObject({ code: 'TOO_MANY_TOKENS' });
    expect(tooMuchCache.failure).toMatchObject({ code: 'TOO_MANY_TOKENS' });
    expect(empty.failure).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(twice.failure).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(running.end).toBe('length');
  });

  it('fails running sequences on close and releases the session', async () => {
    const harness = start();
    const running = harness.submit(promptOf(5), { maxNewTokens: 3000 });
    await harness.scheduler.close();
    const late = harness.submit(promptOf(5));
    expect(running.failure).toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(harness.session.isReleased).toBe(true);
    await late.done;
    expect(late.failure).toMatchObject({ code: 'MODEL_OFFLINE' });
  });

  it('reports a first token before it computes the next one', async () => {
    const log: string[] = [];
    const beforeRun = ({ steps }: { steps: number }): void => void log.push(steps > 1 ? 'prompt' : 'decode');
    const harness = start({ beforeRun, afterStep: () => log.push('told') });
    await harness.submit(promptOf(5), { maxNewTokens: 3 }).done;
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(['prompt', 'told', 'decode', 'told', 'decode', 'told']);
  });

  it('calls afterStep once after all listeners of a step', async () => {
    const log: string[] = [];
    const harness = start({ afterStep: () => log.push('step') });
    const all = [1, 2].map((first) =>
      harness.submit(promptOf(4, first), { maxNewTokens: 3 }, (_, count) => {
        log.push(`token ${count}`);
        return undefined;
      }),
    );
    await Promise.all(all.map(({ done }) => done));
    await new Promise((resolve) => setImmediate(resolve));
    const steps = log.join().split('step');
    expect(steps[0]).toContain('token 1');
    expect(log.at(-1)).toBe('step');
    expect(steps.slice(1, -1).filter((step) => step === ',')).toEqual([]);
  });
});

describe('the work of a step', () => {
  it('does not grow with unused context, cache or slots', async () => {
    const small = start({ contextLength: 128, cacheTokens: 512, slots: 2 });
    const large = start({ contextLength: 1_000_000, cacheTokens: 100_000_000, slots: 64 });
    for (const harness of [small, large]) {
      await Promise.all([1, 2].map((first) => harness.submit(promptOf(20, first), { maxNewTokens: 40 }).done));
    }
    expect(large.decoder.cacheElementsFed).toBe(small.decoder.cacheElementsFed);
    expect(large.decoder.cacheElementsFed).toBeGreaterThan(0);
  });

  it('grows with the longest row, and shrinks when that row leaves', async () => {
    const harness = start();
    const stream = harness.submit(promptOf(5), { maxNewTokens: 120 });
    const long = harness.submit(promptOf(900, 2), { maxNewTokens: 3 });
    await long.done;
    const whileLong = harness.session.runs.filter(({ steps, batch }) => steps === 1 && batch === 2);
    await stream.done;
    const afterwards = harness.session.runs.at(-1);
    expect(Math.max(...whileLong.map(({ capacity }) => capacity))).toBe(1024);
    expect(afterwards?.capacity).toBe(128);
  });

  it('does not include the cost of a long prompt before decoding', async () => {
    const harness = start();
    const stream = harness.submit(promptOf(5), { maxNewTokens: 10 });
    const long = harness.submit(promptOf(1500, 2), { maxNewTokens: 2 });
    await stream.done;
    const decodes = harness.session.runs.filter(({ steps }) => steps === 1);
    expect(new Set(decodes.map(({ capacity }) => capacity))).toEqual(new Set([64]));
    await long.done;
  });

  it('keeps a constrained row to its tokens, among rows that are free, and ends it where nothing may follow', async () => {
    const harness = start({ vocabularySize: 97 });
    const constraint = countdown([[3, 4], [5], [6, 7, 8]]);
    const constrained = harness.submit(promptOf(5), { constraint, eosTokenIds: new Set([96]), topLogprobs: 2 });
    const free = harness.submit(promptOf(9), { maxNewTokens: 12 });
    await Promise.all([constrained.done, free.done]);
    expect(constrained.failure).toBeNull();
    expect([constrained.tokens.length, constrained.end]).toEqual([3, 'eos']);
    expect([3, 4]).toContain(constrained.tokens[0]);
    expect(constrained.tokens[1]).toBe(5);
    expect(constrained.scores[1]).toEqual({ logprob: 0, top: [{ id: 5, logprob: 0 }] });
    expect(free.tokens).toEqual(greedyAlone(promptOf(9), 12));
  });

  it('fails the row whose constraint throws, and no other', async () => {
    const harness = start();
    const broken = { allowed: () => ({ bits: Uint32Array.of(1 << 3), endings: [] }), isFinished: () => false };
    const accept = harness.submit(promptOf(5), {
      constraint: {
        ...broken,
        accept: () => {
          throw new Error('too many states');
        },
      },
    });
    const allowed = harness.submit(promptOf(6), {
      constraint: {
        ...broken,
        accept: () => undefined,
        allowed: () => {
          throw new Error('too slow');
        },
      },
    });
    const free = harness.submit(promptOf(9), { maxNewTokens: 4 });
    await Promise.all([accept.done, allowed.done, free.done]);
    expect([accept.end, accept.failure, allowed.end, allowed.failure]).toEqual([
      null,
      expect.objectContaining({ code: 'INFERENCE_FAILED' }),
      null,
      expect.objectContaining({ code: 'INFERENCE_FAILED' }),
    ]);
    expect(free.tokens).toEqual(greedyAlone(promptOf(9), 4));
  });
});

/** Allows these tokens one after the other, then the end alone. */
function countdown(steps: readonly (readonly number[])[]): TokenConstraint {
  let step = 0;
  return {
    allowed: () => {
      const bits = new Uint32Array(4);
      for (const id of steps[step] ?? []) bits[id >> 5] = (bits[id >> 5] ?? 0) | (1 << (id & 31));
      return { bits, endings: step === steps.length ? [96] : [] };
    },
    accept: () => void step++,
    isFinished: () => step === steps.length,
  };
}
