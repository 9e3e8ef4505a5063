import { describe, expect, it, vi } from 'vitest';
import { noTokens, PlatformError } from '#common';
import { byteLevelTokenizer, sentencePieceTokenizer } from '#test/tiny-models/tiny-tokenizer';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import { isAllowed } from '../sampling/token-constraint.js';
import type { SequenceRequest } from '../scheduler/sequence.js';
import type { SequenceScheduler } from '../scheduler/sequence-scheduler.js';
import { ChatTemplate, generationConfigOf, TextTokenizer, type TokenizerConfig } from '../text/index.js';
import { SchedulerTextEngine, type TextSide } from './text-generation.engine.js';
import type { TextGenerationEvent, TextGenerationRequest } from '../contract/text-generation.js';

const files = byteLevelTokenizer();
const tokenizer = TextTokenizer.fromFiles(files.tokenizerJson, files.tokenizerConfig as TokenizerConfig);
const template = new ChatTemplate('{{ messages[-1].content }}', tokenizer.special);
const thinking = new ChatTemplate('{{ messages[-1].content }}<think>', tokenizer.special);
const eosId = tokenizer.eosTokenId ?? 0;

/** Scheduler stub that the test drives step by step. */
class ScriptedScheduler implements SequenceScheduler {
  readonly submitted: SequenceRequest[] = [];
  readonly cancelled: string[] = [];

  constructor(private readonly afterStep: () => void) {}

  submit(request: SequenceRequest): void {
    this.submitted.push(request);
  }

  cancel(id: string): void {
    this.cancelled.push(id);
  }

  stats(): never {
    throw new Error('not used in these tests');
  }

  async close(): Promise<void> {
    for (const { listener } of this.submitted) listener.onFailure(new PlatformError('MODEL_OFFLINE', 'unloaded'));
  }

  step(work: (sequences: SequenceRequest[]) => void): void {
    work(this.submitted);
    this.afterStep();
  }

  /** Runs one step that gives these tokens to one sequence; returns the listener's answer to the last token. */
  tokens(ids: number[], index = 0): string {
    let result = '';
    this.step((sequences) => {
      for (const id of ids) result = sequences[index]?.listener.onToken(id, null) ?? '';
    });
    return result;
  }
}

function start(contextLength = 100, text: Partial<TextSide> = {}) {
  const messages: [string, TextGenerationEvent][][] = [];
  const scripts: ScriptedScheduler[] = [];
  const engine = new SchedulerTextEngine({
    text: { tokenizer, template, generation: generationConfigOf({ top_k: 7 }, {}, tokenizer.eosTokenId), ...text },
    contextLength,
    createScheduler: (afterStep) => {
      const script = new ScriptedScheduler(afterStep);
      scripts.push(script);
      return script;
    },
    sink: (events) => void messages.push(events),
    // No test depends on the machine's speed.
    gatherMs: Infinity,
  });
  const [scheduler] = scripts;
  if (scheduler === undefined) throw new Error('the engine created no scheduler');
  return { engine, scheduler, messages, events: () => messages.flat().map(([, event]) => event) };
}

function request(content: string, overrides: Partial<TextGenerationRequest> = {}): TextGenerationRequest {
  return {
    id: 'r1',
    prompt: { messages: [{ role: 'user', content }] },
    n: 1,
    sampling: {},
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    ...overrides,
  };
}

const idsOf = (text: string) => tokenizer.encode(text);

describe('SchedulerTextEngine', () => {
  it('only counts the tokens of a prompt where that is asked for', async () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('the river', { countsOnly: true, maxTokens: 0 }));
    await vi.waitFor(() => expect(events()).toHaveLength(2));
    const promptTokens = idsOf('the river').length;
    expect(events()).toEqual([
      { type: 'prompt-ready', promptTokens, cachedTokens: 0 },
      { type: 'finished', cancelled: false, usage: noTokens },
    ]);
    expect(scheduler.submitted).toEqual([]);
  });

  it('refuses biases of tokens that the tokenizer does not have, and names the entry', async () => {
    const { engine, events } = start();
    engine.submit(request('a', { sampling: { logitBias: { 5: 1, 99999: -100 } } }));
    await vi.waitFor(() => expect(events()).toHaveLength(1));
    expect(events()[0]).toMatchObject({
      type: 'failed',
      error: { code: 'INVALID_REQUEST', param: 'logit_bias.99999' },
    });
  });

  it('joins the text of fast steps after the first, and leaves no text unsent', () => {
    const { engine, scheduler, messages } = start();
    engine.submit(request('the river'));
    for (const id of idsOf('abcd')) scheduler.tokens([id]);
    scheduler.step(([only]) => only?.listener.onEnd('length'));
    const texts = messages.map((message) => message.map(([, event]) => ('text' in event ? event.text : event.type)));
    expect(texts).toEqual([['a'], ['bcd', 'choice-finished', 'finished']]);
  });

  it('holds back a character that the token limit cut, and reports its tokens', () => {
    const score = { logprob: -1, top: [] };
    for (const [end, text] of [
      ['length', 'ab'],
      ['eos', 'ab\uFFFD'],
    ] as const) {
      const { engine, scheduler, events } = start();
      engine.submit(request('the river', { topLogprobs: 0 }));
      const ids = idsOf('ab🌊').slice(0, -1);
      scheduler.step(([only]) => ids.forEach((id) => only?.listener.onToken(id, score)));
      scheduler.step(([only]) => only?.listener.onEnd(end));
      const deltas = events().flatMap((event) => (event.type === 'text-delta' ? [event] : []));
      expect(deltas.map((delta) => delta.text).join('')).toBe(text);
      expect(deltas.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(ids.length);
      const bytes = deltas.flatMap(({ logprobs }) => (logprobs ?? []).flatMap((entry) => entry.bytes ?? []));
      expect(bytes).toEqual([...new TextEncoder().encode('ab🌊')].slice(0, bytes.length));
      expect(bytes.length).toBeGreaterThan(2);
    }
  });

  it('shares with other scopes only what the template and the platform wrote', () => {
    const source = 'Helpful.{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[answer]';
    const chat = new ChatTemplate(source, tokenizer.special);
    const { engine, scheduler } = start(500, { template: chat });
    const system = { role: 'system', content: 'Be kind.' };
    const merged = { role: 'system', content: 'Be kind.\n\nMy secret.' };
    const user = { role: 'user', content: 'Helpful.' };
    const cases = [
      { messages: [user], platformCharacters: undefined, shared: 'Helpful.[user]' },
      { messages: [system, user], platformCharacters: undefined, shared: 'Helpful.[system]' },
      { messages: [system, user], platformCharacters: 8, shared: 'Helpful.[system]Be kind.[user]' },
      { messages: [merged, user], platformCharacters: 8, shared: 'Helpful.[system]Be kind.' },
    ];
    for (const [index, { messages, platformCharacters }] of cases.entries()) {
      const members = { id: `r${index}`, prompt: { messages }, cacheScope: 'a', platformCharacters };
      engine.submit(request('', members));
    }
    for (const [index, { shared }] of cases.entries()) {
      const scope = scheduler.submitted[index]?.scope;
      expect(scope).toEqual({ label: 'a', sharedTokens: idsOf(shared).length });
    }
  });

  it('sends one message per step, whatever events it has', () => {
    const { engine, scheduler, messages } = start();
    engine.submit(request('the river', { n: 2 }));
    scheduler.step(([first, second]) => {
      first?.listener.onPrompt(0);
      second?.listener.onPrompt(2);
      first?.listener.onToken(idsOf('a')[0] ?? 0, null);
    });
    expect(messages).toEqual([
      [
        ['r1', { type: 'prompt-ready', promptTokens: idsOf('the river').length, cachedTokens: 0 }],
        ['r1', { type: 'text-delta', index: 0, text: 'a', tokens: 1, logprobs: null }],
      ],
    ]);
  });

  it('counts every token once, in the delta that carries its text', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello'));
    for (const id of idsOf('水a')) scheduler.tokens([id]);
    scheduler.step(([only]) => only?.listener.onEnd('eos'));
    const deltas = events().filter((event) => event.type === 'text-delta');
    expect(deltas.map(({ text, tokens }) => [text, tokens])).toEqual([
      ['水', 3],
      ['a', 1],
    ]);
    expect(events().at(-1)).toMatchObject({ type: 'finished', cancelled: false, usage: { completionTokens: 4 } });
  });

  it('stops before a stop string that spans tokens, with finish reason stop', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { stop: ['END'] }));
    scheduler.tokens(idsOf('x'));
    const answers = idsOf('END').map((id) => scheduler.tokens([id]));
    expect(answers.at(-1)).toBe('stop');
    scheduler.step(([only]) => only?.listener.onEnd('stopped'));
    const text = events()
      .map((event) => (event.type === 'text-delta' ? event.text : ''))
      .join('');
    expect(text).toBe('x');
    expect(events().at(-2)).toEqual({ type: 'choice-finished', index: 0, finishReason: 'stop', stopString: 'END' });
    expect(events().at(-1)).toMatchObject({ usage: { completionTokens: 1 + answers.length } });
  });

  it('returns text held back for a stop string when generation ends', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { stop: ['END'] }));
    scheduler.tokens(idsOf('EN'));
    scheduler.step(([only]) => only?.listener.onEnd('length'));
    const deltas = events().filter((event) => event.type === 'text-delta');
    expect(deltas.map(({ text }) => text).join('')).toBe('EN');
    expect(deltas.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(idsOf('EN').length);
    expect(events()).toContainEqual({ type: 'choice-finished', index: 0, finishReason: 'length' });
  });

  it('rejects a prompt that is one token too long, with both numbers', async () => {
    const prompt = 'the river and the stones';
    const length = idsOf(prompt).length;
    const { engine, scheduler, messages } = start(length);
    engine.submit(request(prompt));
    expect(messages).toEqual([]);
    await Promise.resolve();
    expect(messages[0]?.[0]?.[1]).toMatchObject({
      type: 'failed',
      usage: null,
      error: { code: 'TOO_MANY_TOKENS', param: 'messages', message: expect.stringContaining(`${length} tokens`) },
    });
    expect(scheduler.submitted).toEqual([]);
    const fits = start(length + 1);
    fits.engine.submit(request(prompt));
    expect(fits.scheduler.submitted[0]).toMatchObject({ maxNewTokens: 1 });
  });

  it('rejects an overlong text without tokenizing all of it', async () => {
    const { engine, messages } = start(10);
    engine.submit(request('ab '.repeat(100_000)));
    await Promise.resolve();
    expect(messages[0]?.[0]?.[1]).toMatchObject({
      error: { code: 'TOO_MANY_TOKENS', message: expect.stringContaining('at least ') },
    });
  });

  it('rejects a far too long text before all of its tokens are found', async () => {
    const { engine, messages } = start(1_000);
    const prompt = 'zq '.repeat(2_000);
    expect(idsOf(prompt).length).toBeGreaterThan(2_100);
    expect(Buffer.byteLength(prompt) / tokenizer.longestTokenBytes).toBeLessThan(1_000);
    engine.submit(request(prompt));
    await Promise.resolve();
    expect(messages[0]?.[0]?.[1]).toMatchObject({
      error: { code: 'TOO_MANY_TOKENS', message: expect.stringContaining('has more than 1000 tokens') },
    });
  });

  it('limits the output to the context left after the prompt', () => {
    const { engine, scheduler } = start(50);
    const length = idsOf('hello').length;
    engine.submit(request('hello', { maxTokens: 1_000 }));
    engine.submit(request('hello', { id: 'r2', maxTokens: 3 }));
    engine.submit(request('hello', { id: 'r3' }));
    expect(scheduler.submitted.map(({ maxNewTokens }) => maxNewTokens)).toEqual([50 - length, 3, 50 - length]);
  });

  it("uses a separate seed per choice and the model's defaults", () => {
    const { engine, scheduler } = start();
    engine.submit(request('hello', { n: 3, sampling: { seed: 40, temperature: 0.5 } }));
    expect(scheduler.submitted.map(({ sampling }) => sampling.seed)).toEqual([40, 41, 42]);
    expect(scheduler.submitted[0]?.sampling).toMatchObject({ temperature: 0.5, topK: 7 });
    expect(scheduler.submitted[0]?.eosTokenIds).toEqual(new Set([eosId]));
  });

  it('uses a separate seed per choice where adding one would be lost to rounding', () => {
    const { engine, scheduler } = start();
    engine.submit(request('hello', { n: 3, sampling: { seed: 2 ** 60 + 4096 } }));
    expect(new Set(scheduler.submitted.map(({ sampling }) => sampling.seed)).size).toBe(3);
  });

  it('cancels all choices and reports the generated tokens', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { n: 2 }));
    scheduler.step(([first, second]) => {
      first?.listener.onPrompt(0);
      second?.listener.onToken(idsOf('a')[0] ?? 0, null);
    });
    engine.cancel('r1');
    expect(scheduler.cancelled).toEqual(['r1/0', 'r1/1']);
    scheduler.step((sequences) => sequences.forEach(({ listener }) => listener.onEnd('cancelled')));
    expect(events().at(-1)).toMatchObject({ type: 'finished', cancelled: true, usage: { completionTokens: 1 } });
    expect(events().some((event) => event.type === 'choice-finished')).toBe(false);
  });

  it('charges nothing for a prompt that was cancelled before it was computed', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello'));
    engine.cancel('r1');
    scheduler.step(([only]) => only?.listener.onEnd('cancelled'));
    expect(events()).toEqual([
      {
        type: 'finished',
        cancelled: true,
        usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      },
    ]);
  });

  it('fails the request when one choice fails, after the others have ended', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { n: 2 }));
    scheduler.step(([first]) => first?.listener.onFailure(new PlatformError('INFERENCE_FAILED', 'not a number')));
    expect(events()).toEqual([]);
    scheduler.step(([, second]) => second?.listener.onEnd('cancelled'));
    expect(events()).toEqual([
      { type: 'failed', error: { code: 'INFERENCE_FAILED', message: 'not a number', param: null }, usage: null },
    ]);
  });

  it('drops log-probabilities of tokens inside a stop string', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { stop: ['END'], topLogprobs: 1 }));
    const ids = [...idsOf('x'), ...idsOf('END')];
    scheduler.step(([only]) => {
      for (const id of ids) only?.listener.onToken(id, { logprob: -1, top: [{ id, logprob: -1 }] });
    });
    scheduler.step(([only]) => only?.listener.onEnd('stopped'));
    const logprobs = events().flatMap((event) => (event.type === 'text-delta' ? (event.logprobs ?? []) : []));
    expect(logprobs).toEqual([
      { token: 'x', logprob: -1, bytes: [120], topLogprobs: [{ token: 'x', logprob: -1, bytes: [120] }] },
    ]);
  });

  it("holds back a token's log-probability while its text may start a stop string", () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { stop: ['ab'], topLogprobs: 0 }));
    for (const text of ['a', 'a', 'b']) {
      const [id = 0] = idsOf(text);
      scheduler.step(([only]) => void only?.listener.onToken(id, { logprob: -1, top: [] }));
    }
    scheduler.step(([only]) => only?.listener.onEnd('stopped'));
    const deltas = events().filter((event) => event.type === 'text-delta');
    expect(deltas.map(({ text }) => text).join('')).toBe('a');
    expect(deltas.flatMap(({ logprobs }) => logprobs ?? []).map(({ token }) => token)).toEqual(['a']);
  });

  it('returns every log-probability in the end if no stop string matched', () => {
    const { engine, scheduler, events } = start();
    engine.submit(request('hello', { stop: ['ab'], topLogprobs: 0 }));
    for (const text of ['a', 'a']) {
      const [id = 0] = idsOf(text);
      scheduler.step(([only]) => void only?.listener.onToken(id, { logprob: -1, top: [] }));
    }
    scheduler.step(([only]) => only?.listener.onEnd('length'));
    const deltas = events().filter((event) => event.type === 'text-delta');
    expect(deltas.flatMap(({ logprobs }) => logprobs ?? []).map(({ token }) => token)).toEqual(['a', 'a']);
  });

  it('leaves the BOS of a conversation to its template, and adds one to plain text', () => {
    const { tokenizerJson, tokenizerConfig } = sentencePieceTokenizer();
    const withBos = TextTokenizer.fromFiles(tokenizerJson, tokenizerConfig as TokenizerConfig);
    const own = new ChatTemplate('{{ bos_token }}{{ messages[-1].content }}', withBos.special);
    const firstIds = [own, template, null].map((chatTemplate) => {
      const { engine, scheduler } = start(100, { tokenizer: withBos, template: chatTemplate });
      engine.submit(request('river'));
      return [...(scheduler.submitted[0]?.promptIds ?? [])].filter((id) => id === withBos.bosTokenId).length;
    });
    expect(firstIds).toEqual([1, 0, 1]);
  });

  it('takes control tokens in a message as text, and those in a raw prompt as tokens', () => {
    const text = 'the <|im_end|> river';
    const id = tokenizer.idOf('<|im_end|>');
    const prompts = [{ messages: [{ role: 'user', content: text }] }, { text }];
    const counts = [template, null].flatMap((chatTemplate) =>
      prompts.map((prompt) => {
        const { engine, scheduler } = start(100, { template: chatTemplate });
        engine.submit(request('', { prompt }));
        const ids = [...(scheduler.submitted[0]?.promptIds ?? [])];
        expect(tokenizer.decode(ids)).toBe(ids.includes(id ?? 0) ? 'the  river' : text);
        return ids.filter((other) => other === id).length;
      }),
    );
    expect(counts).toEqual([0, 1, 0, 1]);
  });

  it('takes token ids as they are, and says what they mean if it is asked', () => {
    const { engine, scheduler, events } = start();
    const tokenIds = idsOf(' the river');
    engine.submit(request('', { prompt: { tokenIds, reportsText: true } }));
    engine.submit(request('', { id: 'r2', prompt: { tokenIds } }));
    scheduler.step(([first, second]) => {
      first?.listener.onPrompt(0);
      second?.listener.onPrompt(0);
    });
    expect(scheduler.submitted.map(({ promptIds }) => [...promptIds])).toEqual([tokenIds, tokenIds]);
    expect(events()).toEqual([
      { type: 'prompt-ready', promptTokens: tokenIds.length, cachedTokens: 0, promptText: ' the river' },
      { type: 'prompt-ready', promptTokens: tokenIds.length, cachedTokens: 0 },
    ]);
  });

  it('refuses token ids that it does not have, or too many of them, by the caller’s field', async () => {
    const { engine, events } = start(10);
    const [known = 0] = idsOf('a');
    engine.submit(request('', { prompt: { tokenIds: [known, 1_000_000], param: 'prompt[1]' } }));
    engine.submit(request('', { id: 'r2', prompt: { tokenIds: Array(10).fill(known), param: 'prompt' } }));
    engine.submit(request('', { id: 'r3', prompt: { text: 'a'.repeat(900), param: 'prompt' } }));
    const begin = /^This model's maximum context length is 10 tokens\. However, the prompt has /;
    await expect
      .poll(() => events())
      .toMatchObject([
        { error: { code: 'INVALID_REQUEST', param: 'prompt[1]', message: expect.stringContaining('1000000') } },
        { error: { code: 'TOO_MANY_TOKENS', param: 'prompt', message: expect.stringMatching(begin) } },
        { error: { code: 'TOO_MANY_TOKENS', param: 'prompt', message: expect.stringMatching(begin) } },
      ]);
  });

  it('starts an empty prompt with the end-of-text token if the model has no BOS', () => {
    const { engine, scheduler } = start();
    engine.submit(request(''));
    expect([...(scheduler.submitted[0]?.promptIds ?? [])]).toEqual([eosId]);
  });

  it('fails all requests on close', async () => {
    const { engine, events } = start();
    engine.submit(request('hello'));
    await engine.close();
    expect(events()).toMatchObject([{ type: 'failed', error: { code: 'MODEL_OFFLINE' } }]);
  });

  describe('with a constraint', () => {
    const constraint = { type: 'json-schema', schema: { enum: ['a', 12] }, param: 'response_format' } as const;

    it('submits each choice with a matcher of its own, once the schema is compiled', async () => {
      const { engine, scheduler } = start();
      engine.submit(request('hello', { n: 2, constraint, stopTokenIds: [1, ...idsOf('x')] }));
      expect(scheduler.submitted).toEqual([]);
      await expect.poll(() => scheduler.submitted.length).toBe(2);
      const [first, second] = scheduler.submitted.map((sequence) => sequence.constraint);
      const digits = idsOf('12');
      first?.accept(digits[0] ?? 0);
      expect(first?.allowed().endings).toEqual([]);
      first?.accept(digits[1] ?? 0);
      expect([first?.isFinished(), second?.isFinished()]).toEqual([true, false]);
      expect(first?.allowed().endings).toEqual(expect.arrayContaining([eosId]));
      expect(first?.allowed().endings).not.toEqual(expect.arrayContaining(idsOf('x')));
    });

    it('tells that it is compiled before all else, and what was left out of it with the prompt', async () => {
      const { engine, scheduler, events } = start();
      const lenient = { ...constraint, schema: { pattern: '(a)\\1' }, isStrict: false };
      engine.submit(request('hello', { constraint: lenient, reportsConstraint: true }));
      engine.submit(request('hello', { id: 'free', reportsConstraint: true }));
      await expect.poll(() => scheduler.submitted.length).toBe(2);
      expect(events()).toEqual([{ type: 'constraint-ready' }, { type: 'constraint-ready' }]);
      scheduler.step((sequences) => sequences.find(({ id }) => id === 'r1/0')?.listener.onPrompt(0));
      expect(events().at(-1)).toMatchObject({
        type: 'prompt-ready',
        relaxed: [{ param: 'response_format', pointer: '/pattern' }],
      });
    });

    it('fails with the place and reason of what it does not cover, and lets others pass meanwhile', async () => {
      const { engine, scheduler, events } = start();
      engine.submit(request('hello', { constraint: { ...constraint, schema: { unevaluatedItems: false } } }));
      engine.submit(request('hello', { id: 'r2' }));
      expect(scheduler.submitted.map(({ id }) => id)).toEqual(['r2/0']);
      await expect
        .poll(() => events())
        .toMatchObject([
          {
            type: 'failed',
            error: {
              code: 'INVALID_REQUEST',
              param: 'response_format',
              message: 'The schema is not supported at #/unevaluatedItems: this keyword is not supported.',
            },
            usage: null,
          },
        ]);
      expect(scheduler.submitted).toHaveLength(1);
    });

    it('ends a request that is cancelled while its schema is compiled, and never submits it', async () => {
      const { engine, scheduler, events } = start();
      engine.submit(request('hello', { constraint }));
      engine.cancel('r1');
      await expect.poll(() => events()).toMatchObject([{ type: 'finished', cancelled: true }]);
      await engine.close();
      expect(scheduler.submitted).toEqual([]);
    });

    it('gives up the memory of a constraint once, however its request ends', async () => {
      const held = new Set<string>();
      let uses = 0;
      const original = ConstraintCompiler.prototype.compile;
      const spy = vi.spyOn(ConstraintCompiler.prototype, 'compile').mockImplementation(async function compile(
        this: ConstraintCompiler,
        asked,
      ) {
        const made = await original.call(this, asked);
        const use = () => {
          const key = `use ${uses++}`;
          const release = made.use();
          held.add(key);
          return () => {
            expect(held.delete(key)).toBe(true);
            release();
          };
        };
        return { newMatcher: (endings) => made.newMatcher(endings), relaxed: made.relaxed, use };
      });
      const { engine, scheduler, events } = start();
      for (const id of ['finished', 'cancelled', 'failed']) engine.submit(request('hello', { id, n: 2, constraint }));
      await vi.waitFor(() => expect(scheduler.submitted).toHaveLength(6));
      expect(held.size).toBe(3);
      engine.cancel('cancelled');
      scheduler.step((sequences) => {
        for (const { id, listener } of sequences) {
          if (id.startsWith('failed')) listener.onFailure(new PlatformError('INFERENCE_FAILED', 'broken'));
          else listener.onEnd(id.startsWith('cancelled') ? 'cancelled' : 'eos');
        }
      });
      expect(events().flatMap(({ type }) => (type === 'finished' || type === 'failed' ? [type] : []))).toHaveLength(3);
      expect(held.size).toBe(0);
      spy.mockRestore();
    });

    it('begins behind the reasoning, in which EOS and stop strings mean nothing', async () => {
      const { engine, scheduler, events } = start(100, { template: thinking });
      engine.submit(request('hello', { constraint, stop: ['so'] }));
      await expect.poll(() => scheduler.submitted.length).toBe(1);
      const [{ constraint: held } = { constraint: null }] = scheduler.submitted;
      for (const id of [...idsOf('so</think>'), ...idsOf('12')]) {
        expect(held?.isFinished()).toBe(false);
        const { bits = new Uint32Array(0), endings = [] } = held?.allowed() ?? {};
        expect([isAllowed({ bits, endings }, id), isAllowed({ bits, endings }, eosId)]).toEqual([true, false]);
        held?.accept(id);
        expect(scheduler.tokens([id])).toBe('continue');
      }
      expect(held?.isFinished()).toBe(true);
      scheduler.step(([only]) => only?.listener.onEnd('eos'));
      const text = events().map((event) => ('text' in event ? event.text : ''));
      expect(text.join('')).toBe('so</think>12');
    });
  });

  describe('of a model that reasons', () => {
    it('names the delimiters, and says whether the prompt has opened the block', () => {
      const { engine, scheduler, events } = start(100, { template: thinking });
      engine.submit(request('hello'));
      scheduler.step(([only]) => only?.listener.onPrompt(0));
      const reasoning = { open: '<think>', close: '</think>' };
      expect(events()).toMatchObject([{ type: 'prompt-ready', opensThinking: true, reasoning }]);
      expect(scheduler.submitted[0]?.constraint).toBeNull();
    });

    it('closes the block in the prompt when the template cannot', () => {
      const { engine, scheduler } = start(100, { template: thinking });
      engine.submit(
        request('hello', { prompt: { messages: [{ role: 'user', content: 'a' }], enableThinking: false } }),
      );
      const prompt = tokenizer.decode([...(scheduler.submitted[0]?.promptIds ?? [])]);
      expect(prompt).toBe('a<think>\n\n</think>\n\n');
    });

    it('bounds each choice by the budget on its own', () => {
      const { engine, scheduler } = start(100, { template: thinking });
      const prompt = { messages: [{ role: 'user', content: 'a' }], thinkingBudget: 2 };
      engine.submit(request('hello', { n: 2, prompt }));
      const [first, second] = scheduler.submitted.map(({ constraint }) => constraint);
      for (const id of idsOf('x').concat(idsOf('y'))) first?.accept(id);
      const [closing = 0] = idsOf('</think>');
      expect(isAllowed(first?.allowed() ?? { bits: new Uint32Array(0), endings: [] }, closing)).toBe(true);
      expect([first?.isFree?.(), second?.isFree?.()]).toEqual([false, true]);
    });

    it('ends the answer, not the reasoning, at a stop string, wherever it is split', () => {
      const { engine, scheduler, events } = start(200, { template: thinking });
      engine.submit(request('hello', { stop: ['END', '</'] }));
      const answers = idsOf('an END</think>yes END').map((id) => scheduler.tokens([id]));
      expect([answers.indexOf('stop'), answers.length - 1]).toEqual([answers.length - 1, answers.length - 1]);
      scheduler.step(([only]) => only?.listener.onEnd('stopped'));
      const text = events().map((event) => ('text' in event ? event.text : ''));
      expect(text.join('')).toBe('an END</think>yes ');
    });

    it('shows delimiters that are special tokens', () => {
      const added = [...(files.tokenizerJson.added_tokens as { id: number; content: string }[])];
      const next = Math.max(...added.map(({ id }) => id), tokenizer.tokenBytes?.length ?? 0) + 1;
      const special = ['[THINK]', '[/THINK]'].map((content, index) => ({
        ...added[0],
        id: next + index,
        content,
        special: true,
      }));
      const file = { ...files.tokenizerJson, added_tokens: [...added, ...special] };
      const reasoning = { open: '[THINK]', close: '[/THINK]' };
      const own = TextTokenizer.fromFiles(
        file as never,
        files.tokenizerConfig as TokenizerConfig,
        Object.values(reasoning),
      );
      const { engine, scheduler, events } = start(100, { tokenizer: own, reasoning });
      engine.submit(request('hello', { prompt: { messages: [{ role: 'user', content: 'a' }], thinkingBudget: 0 } }));
      const ids = own.encode('[THINK]a[/THINK]b');
      expect(ids).toEqual(expect.arrayContaining([next, next + 1]));
      scheduler.submitted[0]?.constraint?.accept(next);
      expect(
        isAllowed(scheduler.submitted[0]?.constraint?.allowed() ?? { bits: new Uint32Array(0), endings: [] }, next + 1),
      ).toBe(true);
      scheduler.tokens(ids);
      const text = events().map((event) => ('text' in event ? event.text : ''));
      expect(text.join('')).toBe('[THINK]a[/THINK]b');
    });

    it('refuses a budget of which its tokenizer can keep none', async () => {
      const blind = Object.create(tokenizer, { tokenBytes: { value: null } }) as TextTokenizer;
      const { engine, events } = start(100, { template: thinking, tokenizer: blind });
      engine.submit(request('hello', { prompt: { messages: [{ role: 'user', content: 'a' }], thinkingBudget: 9 } }));
      await expect.poll(() => events()).toMatchObject([{ type: 'failed', error: { param: 'reasoning_effort' } }]);
    });
  });
});
