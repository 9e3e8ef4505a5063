import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { openGraph } from '../runtime/open-graph.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import { BatchScheduler } from './batch-scheduler.js';
import type { Decoder } from './decoder.js';
import { FakeGraphSession } from './fake-graph-session.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';

/* Forced tokens are taken at once and computed in one run. The text must be that of one step per token. */

const ending = 96;

/** Allows these tokens one after the other, then the end alone. */
function steps(allowed: readonly (readonly number[])[]): TokenConstraint {
  let step = 0;
  return {
    allowed: () => {
      const few = (allowed[step] ?? []).toSorted((left, right) => left - right);
      const bits = new Uint32Array(32);
      for (const id of few) bits[id >> 5] = (bits[id >> 5] ?? 0) | (1 << (id & 31));
      return { bits, endings: step >= allowed.length ? [ending] : [], few };
    },
    accept: () => void step++,
    isFinished: () => false,
  };
}

interface Given {
  prompt: number[];
  allowed: number[][];
  members: Pick<SequenceRequest, 'sampling' | 'maxNewTokens' | 'topLogprobs' | 'stopTokenIds'>;
  cancelsAt: number;
  stopsAt: number;
}

/** Half of the places leave no choice, and often many in a row. */
const givenArbitrary = (vocabularySize: number): fc.Arbitrary<Given> => {
  const token = fc.integer({ min: 1, max: vocabularySize - 2 }).filter((id) => id !== ending);
  const choice = fc.uniqueArray(token, { minLength: 2, maxLength: 9 });
  const forced = fc.array(token, { minLength: 1, maxLength: 12 }).map((ids) => ids.map((id) => [id]));
  const places = fc.array(
    fc.oneof(
      forced,
      choice.map((ids) => [ids]),
    ),
    { minLength: 1, maxLength: 6 },
  );
  return fc.record({
    prompt: fc.array(token, { minLength: 1, maxLength: 40 }),
    allowed: places.map((parts) => parts.flat()),
    members: fc.record({
      sampling: fc.record({
        temperature: fc.constantFrom(0, 0.7, 1.3),
        topP: fc.constantFrom(1, 0.9),
        seed: fc.integer({ min: 1, max: 999 }),
        presencePenalty: fc.constantFrom(0, 1.1),
        repetitionPenalty: fc.constantFrom(1, 1.3),
      }),
      maxNewTokens: fc.constantFrom(3, 9, 60),
      topLogprobs: fc.constantFrom(null, 0, 2),
      stopTokenIds: fc.array(token, { maxLength: 1 }).map((ids) => new Set(ids)),
    }),
    cancelsAt: fc.constantFrom(0, 0, 0, 2, 7),
    stopsAt: fc.constantFrom(0, 0, 0, 3, 8),
  });
};

async function generate(decoder: Decoder, all: readonly Given[], jumpsForward: boolean, isRepeatable: boolean) {
  const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 256, cacheTokens: 2048, jumpsForward });
  const listeners = all.map(({ prompt, allowed, members, cancelsAt, stopsAt }, index) => {
    const id = `s${index}`;
    const listener = new RecordingListener((_, count) => {
      if (count === cancelsAt) scheduler.cancel(id);
      return count === stopsAt ? 'stop' : 'continue';
    });
    const { seed, ...unseeded } = members.sampling;
    // A draw without a seed cannot be compared.
    const sampling = isRepeatable ? { ...unseeded, seed } : { ...unseeded, temperature: 0 };
    const constraint = steps(allowed);
    const eosTokenIds = new Set([ending]);
    scheduler.submit(sequenceRequest({ id, prompt, listener, ...members, sampling, constraint, eosTokenIds }));
    return listener;
  });
  await Promise.all(listeners.map(({ done }) => done));
  const { generatedTokensTotal: generated, stepsTotal } = scheduler.stats();
  await scheduler.close();
  const ended = listeners.map(({ tokens, scores, end, failure }) => ({ tokens, scores, end, failure }));
  return { ended, generated, stepsTotal };
}

describe('jump-forward', () => {
  it.each([true, false])(
    'gives the text of one step per token, whatever ends it (seeded: %s)',
    async (isRepeatable) => {
      let saved = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(givenArbitrary(97), { minLength: 1, maxLength: 6 }), async (all) => {
          const run = (jumps: boolean) =>
            generate(openDecoder(new FakeGraphSession(), { slots: 4 }), all, jumps, isRepeatable);
          const [jumped, stepped] = [await run(true), await run(false)];
          expect(jumped.ended).toEqual(stepped.ended);
          expect(jumped.generated).toBe(stepped.generated);
          for (const { failure } of jumped.ended) expect(failure).toBeNull();
          saved += stepped.stepsTotal - jumped.stepsTotal;
        }),
        { numRuns: 150 },
      );
      // Forced tokens behind which a text ends are never computed at all.
      expect(saved).toBeGreaterThan(100);
    },
  );

  it('computes forced tokens of a lone stream in one run, and scores them as certain', async () => {
    const session = new FakeGraphSession();
    const allowed = [[3, 4], [5], [6], [7], [8], [9, 10], [11]];
    const given: Given = {
      prompt: [1, 2],
      allowed,
      members: { sampling: { temperature: 0 }, maxNewTokens: 50, topLogprobs: 1, stopTokenIds: new Set() },
      cancelsAt: 0,
      stopsAt: 0,
    };
    const { ended } = await generate(openDecoder(session, { slots: 4 }), [given], true, false);
    expect(ended[0]?.tokens).toHaveLength(allowed.length);
    expect(ended[0]?.scores.slice(1, 5)).toEqual([5, 6, 7, 8].map((id) => ({ logprob: 0, top: [{ id, logprob: 0 }] })));
    // The prompt, the choice with all forced tokens but the last, and the last, which the next choice follows.
    expect(session.runs.map(({ steps: length }) => length)).toEqual([2, 4, 1]);
  });
});

describe('jump-forward on the runtime', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jumps-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each<TinyModelOptions>([
    { shape: 'llama', dtype: 'float32' },
    { shape: 'llama', dtype: 'int4' },
    { shape: 'llama', dtype: 'int8' },
    { shape: 'qwen', dtype: 'float32' },
    { shape: 'phi', dtype: 'int8-channel' },
    { shape: 'llama', dtype: 'float32', layout: 'concat' },
  ])('gives the text of one step per token: %j', async (options) => {
    const path = join(folder, Object.values(options).join('-'));
    const { graphFile } = await buildTinyModel(path, options);
    const modelPath = join(path, graphFile);
    const cases = fc.sample(fc.array(givenArbitrary(400), { minLength: 1, maxLength: 3 }), { numRuns: 8, seed: 4 });
    for (const all of cases) {
      const texts: unknown[] = [];
      for (const jumps of [true, false]) {
        const session = await openGraph({ modelPath, providers: ['cpu'], intraOpThreads: 1 });
        const { ended } = await generate(openDecoder(session, { slots: 4 }), all, jumps, false);
        texts.push(ended.map(({ tokens, end, failure }) => ({ tokens, end, failure })));
      }
      expect(texts[0]).toEqual(texts[1]);
    }
  });
});
