import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { noCapabilities } from '#model-registry/manifest';
import { validateBody } from '#platform/validation';
import { ChatJobPayload } from '../../contract/chat.job.js';
import { CompletionRequest } from '../../contract/completions/completion.request.js';
import { normalizeChat } from '../job/chat.normalizer.js';
import { translateCompletion } from './completions.normalizer.js';

const model = {
  id: 'tiny',
  capabilities: noCapabilities,
  maxChoices: 4,
  maxCompletionTokens: 128,
  contextLength: 256,
  systemPrompt: 'You are kind.',
  constraints: null,
  inputAdapters: {},
  suffix: {},
};

function normalize(changes: object) {
  const wire = validateBody(CompletionRequest, { model: 'tiny', prompt: 'Once', ...changes });
  const { chat, raw } = translateCompletion(wire);
  return normalizeChat(chat, { ...model, capabilities: { ...noCapabilities, supportsLogProbs: true } }, raw);
}

function refusalOf(changes: object): PlatformError {
  try {
    normalize(changes);
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('the request was accepted');
}

describe('a text completion', () => {
  it.each([
    ['Once', [{ text: 'Once', param: 'prompt' }]],
    ['', [{ text: '', param: 'prompt' }]],
    [
      ['Once', 'Twice'],
      [
        { text: 'Once', param: 'prompt[0]' },
        { text: 'Twice', param: 'prompt[1]' },
      ],
    ],
    [[1, 5], [{ tokenIds: [1, 5], param: 'prompt' }]],
    [
      [[1, 5], [0]],
      [
        { tokenIds: [1, 5], param: 'prompt[0]' },
        { tokenIds: [0], param: 'prompt[1]' },
      ],
    ],
  ])('takes the prompt %j', (prompt, prompts) => {
    const { payload } = normalize({ prompt });
    expect(payload).toMatchObject({ messages: [], prompts });
    expect(validateSync(plainToInstance(ChatJobPayload, payload))).toEqual([]);
  });

  it('has OpenAI’s default length, and no system prompt', () => {
    const { payload, boundsOutput } = normalize({ max_tokens: null });
    expect([payload.maxTokens, boundsOutput, payload.messages]).toEqual([16, true, []]);
  });

  it('passes on its options', () => {
    const sampling = { temperature: 0, top_p: 0.5, top_k: 3, min_p: 0.1, seed: 7, frequency_penalty: 1 };
    const more = { n: 2, best_of: 2, stop: ['.'], stop_token_ids: [2], logprobs: 3, max_tokens: 9 };
    expect(
      normalize({ ...sampling, ...more, prompt_cache_key: 'k', suffix: '', logit_bias: { 5: -100 } }).payload,
    ).toMatchObject({
      sampling: { temperature: 0, topP: 0.5, topK: 3, minP: 0.1, seed: 7, frequencyPenalty: 1 },
      n: 2,
      stop: ['.'],
      stopTokenIds: [2],
      topLogprobs: 3,
      maxTokens: 9,
      promptCacheKey: 'k',
      logitBias: { 5: -100 },
    });
    expect(normalize({ echo: true }).payload.echo).toBe(true);
    expect(normalize({ logprobs: 0 }).payload.topLogprobs).toBe(0);
    const { payload } = normalize({ echo: true, logprobs: 1, max_tokens: 0 });
    expect(payload).toMatchObject({ echo: true, topLogprobs: 1, maxTokens: 0 });
    expect(validateSync(plainToInstance(ChatJobPayload, payload))).toEqual([]);
  });

  it.each<[string, object]>([
    ['prompt', { prompt: null }],
    ['prompt', { prompt: [] }],
    ['prompt', { prompt: [[]] }],
    ['prompt', { prompt: ['a', [1]] }],
    ['prompt', { prompt: [1, 'a'] }],
    ['prompt', { prompt: [-1] }],
    ['prompt', { prompt: [1.5] }],
    ['prompt', { prompt: [2 ** 31] }],
    ['prompt', { prompt: Array.from({ length: 21 }, () => 'a') }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 129 }],
    ['n', { n: 5 }],
    ['best_of', { best_of: 3 }],
    ['best_of', { n: 3, best_of: 1 }],
    ['suffix', { suffix: 'end' }],
    ['logit_bias', { logit_bias: { 5: 101 } }],
    ['logprobs', { logprobs: 6 }],
    ['logprobs', { logprobs: true }],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
  ])('is refused by the field that is wrong: %s', (param, changes) => {
    expect(refusalOf(changes)).toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it('is refused if a prompt cannot fit', () => {
    const long = 'x'.repeat(256 * 257);
    const message = expect.stringMatching(/^This model's maximum context length is 256 tokens\./) as string;
    expect(refusalOf({ prompt: ['a', long] })).toMatchObject({ code: 'TOO_MANY_TOKENS', param: 'prompt[1]', message });
    const ids = Array.from({ length: 257 }, () => 1);
    expect(refusalOf({ prompt: ids })).toMatchObject({ code: 'TOO_MANY_TOKENS', param: 'prompt', message });
  });
});
