import crypto from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { openGraph } from '../runtime/open-graph.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import { BatchScheduler } from './batch-scheduler.js';
import type { Decoder } from './decoder.js';
import { FakeGraphSession } from './fake-graph-session.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';

/* Drafts of prompt lookup are verified in one run. The text must be that of one step per token. */

/** The draws of sequences without a seed, by the order in which they are submitted. Those with a seed have no drafts. */
let nextSeed = 0;
// A mock of the module would not reach what other files of this worker have loaded.
const random = vi.spyOn(crypto, 'randomBytes').mockImplementation((size: number) => Buffer.alloc(size, ++nextSeed));
syncBuiltinESMExports();
afterAll(() => {
  random.mockRestore();
  syncBuiltinESMExports();
});

const ending = 96;

/** A model that copies: what followed the last tokens most recently is likely to follow again, but for some contexts. */
function copies(context: readonly number[]): number | null {
  const last = context.length - 1;
  if ((context.reduce((sum, token, place) => sum + token * (place + 1), 0) % 11) * context.length < 7) return null;
  for (let at = last - 1; at > 1; at--) {
    if (context[at] === context[last] && context[at - 1] === context[last - 1]) return context[at + 1] ?? null;
  }
  return null;
}

const copyingSession = () => new FakeGraphSession({ picksLogits: true, favors: copies });

/** Allows each time the tokens of one of these sets, in turn, and no end. */
function cycling(sets: readonly (readonly number[])[]): TokenConstraint {
  let step = 0;
  return {
    allowed: () => {
      const few = (sets[step % sets.length] ?? []).toSorted((left, right) => left - right);
      const bits = new Uint32Array(32);
      for (const id of few) bits[id >> 5] = (bits[id >> 5] ?? 0) | (1 << (id & 31));
      return { bits, endings: [], few };
    },
    accept: () => void step++,
    isFinished: () => false,
  };
}

interface Given {
  block: number[];
  repeats: number;
  members: Pick<SequenceRequest, 'sampling' | 'maxNewTokens' | 'topLogprobs' | 'stopTokenIds'>;
  allowed: number[][];
  cancelsAt: number;
  stopsAt: number;
  /** Number of tokens of the first sequence after which this one is submitted. */
  joinsAt: number;
}

const givenArbitrary = (vocabularySize: number): fc.Arbitrary<Given> => {
  const token = fc.integer({ min: 1, max: vocabularySize - 2 }).filter((id) => id !== ending);
  const many = fc.uniqueArray(token, { minLength: 20, maxLength: 60 });
  const allowed = fc.array(fc.oneof(many, fc.uniqueArray(token, { minLength: 1, maxLength: 4 })), { maxLength: 4 });
  return fc.record({
    block: fc.array(token, { minLength: 13, maxLength: 40 }),
    repeats: fc.integer({ min: 1, max: 3 }),
    members: fc.record({
      sampling: fc.record({
        temperature: fc.constantFrom(0, 0, 0.7, 1.3),
        topP: fc.constantFrom(1, 0.9),
        topK: fc.constantFrom(0, 5, 40),
        presencePenalty: fc.constantFrom(0, 0, 0.6),
        repetitionPenalty: fc.constantFrom(1, 1, 1.1),
        logitBias: fc.constantFrom<Record<string, number>>({}, { 5: 4, 9: -100 }),
      }),
      maxNewTokens: fc.constantFrom(3, 30, 80),
      topLogprobs: fc.constantFrom(null, 0, 2),
      stopTokenIds: fc.oneof(
        fc.constant(new Set<number>()),
        token.map((id) => new Set([id])),
      ),
    }),
    allowed: fc.oneof(fc.constant<number[][]>([]), fc.constant<number[][]>([]), allowed),
    cancelsAt: fc.constantFrom(0, 0, 0, 7),
    stopsAt: fc.constantFrom(0, 0, 0, 12),
    joinsAt: fc.constantFrom(0, 0, 5, 21),
  });
};

async function generate(decoder: Decoder, all: readonly Given[], draftTokens: number) {
  nextSeed = 0;
  const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 512, cacheTokens: 4096, draftTokens });
  const submits: (() => void)[] = [];
  let isFirstDone = false;
  const listeners = all.map((given, index) => {
    const id = `s${index}`;
    const listener = new RecordingListener((_, count) => {
      if (index === 0) all.forEach(({ joinsAt }, other) => joinsAt === count && submits[other]?.());
      if (count === given.cancelsAt) scheduler.cancel(id);
      return count === given.stopsAt ? 'stop' : 'continue';
    });
    const prompt = Array.from({ length: given.repeats }, () => given.block).flat();
    const constraint = given.allowed.length > 0 ? cycling(given.allowed) : null;
    let isSubmitted = false;
    submits.push(() => {
      if (isSubmitted) return;
      isSubmitted = true;
      scheduler.submit(sequenceRequest({ id, prompt, listener, ...given.members, constraint }));
    });
    if (index === 0 || given.joinsAt === 0) submits[index]?.();
    return listener;
  });
  await listeners[0]?.done.then(() => (isFirstDone = true));
  // The first text was too short for them.
  if (isFirstDone) for (const submit of submits) submit();
  await Promise.all(listeners.map(({ done }) => done));
  const stats = scheduler.stats();
  await scheduler.close();
  const ended = listeners.map(({ tokens, scores, end, failure }) => ({ tokens, scores, end, failure }));
  return { ended, stats };
}

const greedy = { sampling: { temperature: 0 }, maxNewTokens: 60, topLogprobs: null, stopTokenIds: new Set<number>() };
const plain = { repeats: 2, members: greedy, allowed: [], cancelsAt: 0, stopsAt: 0, joinsAt: 0 };
const block = Array.from({ length: 30 }, (_, index) => ((index * 7) % 90) + 1);

describe('speculation', () => {
  it('gives the text of one step per token, whatever ends it and whoever joins', async () => {
    const totals = { accepted: 0, drafted: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(givenArbitrary(97), { minLength: 1, maxLength: 4 }), async (all) => {
        const run = (draftTokens: number) => generate(openDecoder(copyingSession(), { slots: 4 }), all, draftTokens);
        const [drafted, stepped] = [await run(8), await run(0)];
        expect(drafted.ended).toEqual(stepped.ended);
        expect(drafted.stats.generatedTokensTotal).toBe(stepped.stats.generatedTokensTotal);
        for (const { failure } of drafted.ended) expect(failure).toBeNull();
        expect(stepped.stats.draftTokensTotal).toBe(0);
        totals.accepted += drafted.stats.acceptedDraftTokensTotal;
        totals.drafted += drafted.stats.draftTokensTotal;
      }),
      { numRuns: 60 },
    );
    // Drafts of both kinds are met.
    expect(totals.accepted).toBeGreaterThan(200);
    expect(totals.drafted - totals.accepted).toBeGreaterThan(40);
  });

  it('computes a copied text in a few runs, and its prefix serves later prompts', async () => {
    const session = new FakeGraphSession({ picksLogits: true, favors: (context) => block[context.length % 30] ?? 1 });
    const { ended, stats } = await generate(openDecoder(session, { slots: 4 }), [{ ...plain, block }], 8);
    expect(ended[0]?.tokens).toHaveLength(60);
    expect(stats).toMatchObject({ generatedTokensTotal: 60, draftTokensTotal: stats.acceptedDraftTokensTotal });
    expect(session.runs.length).toBeLessThan(12);
    expect(Math.max(...session.runs.slice(1).map(({ steps }) => steps))).toBe(9);
  });

  it('has drafts of two rows, and none of three', async () => {
    const draftedOf = async (rows: number): Promise<number> => {
      const session = new FakeGraphSession({ picksLogits: true, favors: (context) => block[context.length % 30] ?? 1 });
      const all = Array.from({ length: rows }, () => ({ ...plain, block }));
      return (await generate(openDecoder(session, { slots: 4 }), all, 8)).stats.draftTokensTotal;
    };
    expect(await draftedOf(2)).toBeGreaterThan(50);
    expect(await draftedOf(3)).toBe(0);
  });

  it('stops in a text whose drafts are wrong', async () => {
    const prompt = [...block, ...block];
    // Repeats the first twelve tokens of the block, each time with another one behind them.
    const favors = (context: readonly number[]) => {
      const step = context.length - prompt.length;
      return step % 13 === 12 ? 60 + Math.floor(step / 13) : (block[step % 13] ?? 1);
    };
    const session = new FakeGraphSession({ picksLogits: true, favors });
    const given = { ...plain, block, members: { ...greedy, maxNewTokens: 400 } };
    const { stats } = await generate(openDecoder(session, { slots: 4 }), [given], 8);
    const drafted = session.runs.flatMap(({ steps }, run) => (steps > 1 && run > 0 ? [run] : []));
    expect(stats.draftTokensTotal).toBeGreaterThan(stats.acceptedDraftTokensTotal);
    // The text goes on matching, four times as long.
    expect(drafted.at(-1)).toBeLessThan(session.runs.length / 4);
  });
});

function amongFew(members: Given['members']): Given['members'] {
  const logitBias = { 5: 34, 77: 30 };
  return { ...members, sampling: { ...members.sampling, logitBias } };
}

describe('speculation on the runtime', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'speculation-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each<TinyModelOptions>([
    { shape: 'llama', dtype: 'float32' },
    { shape: 'llama', dtype: 'int4' },
    { shape: 'llama', dtype: 'int8' },
    { shape: 'qwen', dtype: 'float32' },
    { shape: 'phi', dtype: 'int8-channel' },
  ])('gives the text of one step per token: %j', async (options) => {
    const path = join(folder, Object.values(options).join('-'));
    const { graphFile } = await buildTinyModel(path, options);
    const modelPath = join(path, graphFile);
    const sampled = fc.sample(fc.array(givenArbitrary(400), { minLength: 1, maxLength: 3 }), { numRuns: 4, seed: 7 });
    // A model of random weights repeats itself where it has few tokens to choose from.
    const cases = sampled.map((all) => all.map((given) => ({ ...given, members: amongFew(given.members) })));
    let accepted = 0;
    for (const all of cases) {
      const texts: unknown[] = [];
      for (const draftTokens of [8, 0]) {
        const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1, picksLogits: true });
        const { ended, stats } = await generate(openDecoder(session, { slots: 4 }), all, draftTokens);
        texts.push(ended.map(({ tokens, end, failure }) => ({ tokens, end, failure })));
        accepted += stats.acceptedDraftTokensTotal;
      }
      expect(texts[0]).toEqual(texts[1]);
    }
    expect(accepted).toBeGreaterThan(20);
  });
});
