import { describe, expect, it } from 'vitest';
import type { ChatEvent, TokenLogprob } from '../../contract/chat.events.js';
import { CompletionScores } from './completion-scores.js';
import { CompletionChunkPresenter, CompletionCollector, type CompletionHead } from './completions.presenter.js';

const head: CompletionHead = {
  id: 'cmpl-0011223344556677-SLC',
  created: 1_795_000_000,
  modelId: 'tiny',
  choices: 2,
  withLogprobs: false,
  pricing: { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } },
  heldDiemNano: 0n,
};
const scored = { ...head, withLogprobs: true };
const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 3, reasoningTokens: 0 };

function token(text: string, bytes: number[] | null = [...Buffer.from(text)]): TokenLogprob {
  return { token: text, logprob: -0.5, bytes, topLogprobs: [{ token: 'x', logprob: -1, bytes: null }] };
}

function delta(index: number, text: string, logprobs: TokenLogprob[] | null = null): ChatEvent {
  return { type: 'text-delta', index, channel: 'content', text, tokens: 1, logprobs };
}

function chunksOf(presenter: CompletionChunkPresenter, events: ChatEvent[]): object[] {
  return events.flatMap((event) => presenter.present(event)).map((json) => JSON.parse(json) as object);
}

const ready: ChatEvent = { type: 'prompt-ready', promptTokens: 5, cachedTokens: 2 };

describe('CompletionCollector', () => {
  it('joins the text of each choice', () => {
    const collector = new CompletionCollector(head);
    const events = [ready, delta(1, 'B'), delta(0, 'A'), delta(0, 'a')];
    for (const event of events) collector.add(event);
    collector.add({ type: 'choice-finished', index: 0, finishReason: 'length' });
    collector.add({ type: 'choice-finished', index: 1, finishReason: 'stop' });
    expect(collector.completion(usage)).toEqual({
      id: head.id,
      object: 'text_completion',
      created: head.created,
      model: 'tiny',
      choices: [
        { text: 'Aa', index: 0, logprobs: null, finish_reason: 'length' },
        { text: 'B', index: 1, logprobs: null, finish_reason: 'stop' },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 3,
        total_tokens: 8,
        prompt_tokens_details: { cached_tokens: 2, cache_creation_input_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      cost: { usd: 0.000011, diem: 0 },
    });
  });

  it('adds log-probabilities in the form of text completions', () => {
    const collector = new CompletionCollector(scored);
    for (const event of [delta(0, 'A', [token('A')]), delta(0, ' b', [token(' b')])]) collector.add(event);
    expect(collector.completion(usage).choices[0]?.logprobs).toEqual({
      tokens: ['A', ' b'],
      token_logprobs: [-0.5, -0.5],
      top_logprobs: [
        { x: -1, A: -0.5 },
        { x: -1, ' b': -0.5 },
      ],
      text_offset: [0, 1],
    });
  });
});

describe('CompletionChunkPresenter', () => {
  it('sends each text with its choice, then why it ended', () => {
    const finished: ChatEvent = { type: 'choice-finished', index: 1, finishReason: 'stop' };
    const chunks = chunksOf(new CompletionChunkPresenter(head, false), [ready, delta(1, 'B'), delta(0, ''), finished]);
    const constant = { id: head.id, object: 'text_completion', created: head.created, model: 'tiny' };
    expect(chunks).toEqual([
      { ...constant, choices: [{ text: 'B', index: 1, logprobs: null, finish_reason: null }] },
      { ...constant, choices: [{ text: '', index: 1, logprobs: null, finish_reason: 'stop' }] },
    ]);
  });

  it('ends with the usage if that was asked for', () => {
    const presenter = new CompletionChunkPresenter(head, true);
    expect(chunksOf(presenter, [delta(0, 'A')])).toMatchObject([{ usage: null }]);
    expect(presenter.finish(usage).map((json) => JSON.parse(json) as object)).toMatchObject([
      { choices: [], usage: { total_tokens: 8 }, cost: { usd: 0.000011 } },
    ]);
    expect(new CompletionChunkPresenter(head, false).finish(usage)).toEqual([]);
  });

  it('counts positions through the chunks of a choice', () => {
    const presenter = new CompletionChunkPresenter(scored, false);
    const chunks = chunksOf(presenter, [
      delta(0, 'ab', [token('ab')]),
      delta(1, 'c', [token('c')]),
      delta(0, 'd', [token('d')]),
    ]);
    expect(chunks).toMatchObject([
      { choices: [{ index: 0, logprobs: { text_offset: [0] } }] },
      { choices: [{ index: 1, logprobs: { text_offset: [0] } }] },
      { choices: [{ index: 0, logprobs: { text_offset: [2] } }] },
    ]);
  });

  it('does not repeat what it has sent when another worker begins anew', () => {
    const presenter = new CompletionChunkPresenter(head, false);
    chunksOf(presenter, [ready, delta(0, 'A')]);
    expect(() => presenter.present(ready)).toThrow(expect.objectContaining({ code: 'INFERENCE_FAILED' }));
  });
});

describe('CompletionScores', () => {
  it('begin with the tokens of the prompt, of which the first has none, and go on behind its text', () => {
    const scores = new CompletionScores();
    const first = { ...token('<s>'), logprob: null, topLogprobs: [], startsAt: 0 };
    scores.addPrompt({ scores: [first], text: '' });
    scores.addPrompt({ scores: [{ ...token('🌊a'), startsAt: 0 }], text: '🌊a' });
    scores.add([token('b')]);
    expect(scores.take()).toEqual({
      tokens: ['<s>', '🌊a', 'b'],
      token_logprobs: [null, -0.5, -0.5],
      top_logprobs: [null, { x: -1, '🌊a': -0.5 }, { x: -1, b: -0.5 }],
      text_offset: [0, 0, 2],
    });
  });

  it('counts a character that several tokens make once, where it is complete', () => {
    const bytes = [...Buffer.from('🌊')];
    const scores = new CompletionScores();
    const logprobs = [
      token('bytes:1', bytes.slice(0, 2)),
      token('bytes:2', bytes.slice(2)),
      token('a'),
      token('b', null),
    ];
    scores.add(logprobs);
    expect(scores.take().text_offset).toEqual([0, 0, 1, 2]);
    expect(scores.isEmpty).toBe(true);
  });
});
