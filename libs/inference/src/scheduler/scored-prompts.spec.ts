import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { tokenLosses } from '../evaluation/token-losses.js';
import { openGraph } from '../runtime/open-graph.js';
import type { TokenScore } from '../sampling/token-score.js';
import { BatchScheduler } from './batch-scheduler.js';
import type { Decoder } from './decoder.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';

/* Log-probabilities of prompts, on the real runtime with tiny random models. */

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scored-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const layouts: TinyModelOptions[] = [
  { shape: 'llama', layout: 'split' },
  { shape: 'llama', layout: 'concat' },
];

async function openTiny(options: TinyModelOptions): Promise<Decoder> {
  const path = join(folder, options.layout ?? '');
  const { graphFile } = await buildTinyModel(path, options);
  const session = await openGraph({ modelPath: join(path, graphFile), providers: ['cpu'], intraOpThreads: 1 });
  return openDecoder(session, { slots: 4 });
}

class ScoredListener extends RecordingListener {
  readonly prompt: [token: number, score: TokenScore][] = [];
  onPromptToken(token: number, score: TokenScore): void {
    if (this.cachedTokens !== null) throw new Error('The prompt was reported before its tokens.');
    this.prompt.push([token, score]);
  }
}

const promptOf = (length: number, first: number): number[] =>
  Array.from({ length }, (_, index) => 260 + ((first * 31 + index * 17 + ((index * index) % 7)) % 170));

function submitOn(scheduler: BatchScheduler) {
  let count = 0;
  return (prompt: number[], members: Partial<SequenceRequest> = {}): ScoredListener => {
    const listener = new ScoredListener();
    const scored = { scoresPrompt: true, topLogprobs: 3, maxNewTokens: 0 };
    scheduler.submit(sequenceRequest({ id: `s${count++}`, prompt, listener, ...scored, ...members }));
    return listener;
  };
}

describe.each(layouts)('a prompt that is scored by a tiny $shape as $layout', (options) => {
  it('has the losses of an independent forward pass, whatever runs beside it', async () => {
    const decoder = await openTiny(options);
    const prompts = [promptOf(70, 1), promptOf(70, 2), promptOf(70, 1)];
    const sizes = { window: 70, warmup: 1, rows: 1 };
    const losses = [];
    for (const prompt of prompts) losses.push(await tokenLosses(decoder, [Int32Array.from(prompt)], sizes));
    const scheduler = new BatchScheduler({ decoder, slots: 4, contextLength: 256, cacheTokens: 2048 });
    const submit = submitOn(scheduler);
    const free = { scoresPrompt: false, topLogprobs: null, maxNewTokens: 40 };
    const beside = submit(promptOf(90, 1), free);
    const scored = prompts.map((prompt) => submit(prompt));
    for (const [index, listener] of scored.entries()) {
      await listener.done;
      expect([listener.failure, listener.end, listener.tokens, listener.cachedTokens]).toEqual([null, 'length', [], 0]);
      expect(listener.prompt.map(([token]) => token)).toEqual(prompts[index]?.slice(1));
      for (const [position, [token, { logprob, top }]] of listener.prompt.entries()) {
        expect(logprob).toBeCloseTo(-(losses[index]?.[position] ?? NaN), 4);
        expect(top).toHaveLength(3);
        const known = top.find(({ id }) => id === token)?.logprob;
        if (known !== undefined) expect(known).toBe(logprob);
        expect(Math.max(...top.map((other) => other.logprob))).toBeGreaterThanOrEqual(logprob);
      }
    }
    expect((await beside.done).tokens).toHaveLength(40);
    await scheduler.close();
  });

  it('goes on as the same prompt that is not, and penalizes no token of it as output', async () => {
    const scheduler = new BatchScheduler({
      decoder: await openTiny(options),
      ...{ slots: 4, contextLength: 256, cacheTokens: 2048 },
    });
    const submit = submitOn(scheduler);
    const sampling = { temperature: 0, presencePenalty: 1.5 };
    const prompt = promptOf(40, 3);
    const plain = await submit(prompt, { scoresPrompt: false, maxNewTokens: 12, sampling }).done;
    const scored = await submit(prompt, { maxNewTokens: 12, sampling, eosTokenIds: new Set([prompt[5] ?? 0]) }).done;
    expect(scored.tokens.slice(0, 3)).toEqual(plain.tokens.slice(0, 3));
    expect(scored.cachedTokens).toBe(0);
    const short = submit(prompt.slice(0, 1), { maxNewTokens: 0 });
    expect([(await short.done).end, short.prompt, short.cachedTokens]).toEqual(['length', [], 0]);
    const unscored = await submit(prompt, { scoresPrompt: false, maxNewTokens: 0, topLogprobs: null }).done;
    expect([unscored.end, unscored.tokens, unscored.cachedTokens !== null]).toEqual(['length', [], true]);
    await scheduler.close();
  });

  it('ends where it is cancelled', async () => {
    const scheduler = new BatchScheduler({
      decoder: await openTiny(options),
      ...{ slots: 4, contextLength: 256, cacheTokens: 2048 },
    });
    const listener = submitOn(scheduler)(promptOf(200, 4));
    listener.onPromptToken = (token, score) => {
      listener.prompt.push([token, score]);
      if (listener.prompt.length === 5) scheduler.cancel('s0');
    };
    await listener.done;
    expect([listener.end, listener.prompt.length, listener.cachedTokens]).toEqual(['cancelled', 5, null]);
    await scheduler.close();
  });
});
