import { validateSync } from 'class-validator';
import { plainToInstance } from 'class-transformer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { noCapabilities } from '#model-registry/manifest';
import { ruleNamesOf, validateBody } from '#platform/validation';
import { createHostIdentity } from '#tee';
import { sealText } from '#tee/sealing';
import { ChatJobPayload } from '../../contract/chat.job.js';
import { ChatCompletionRequest, ChatTextOptions } from '../../contract/chat.request.js';
import type { ChatModel } from './chat.model.js';
import { normalizeChat, type NormalizedChat } from './chat.normalizer.js';
import { samplingFields } from './chat.sampling.js';

const nothing = {
  ...noCapabilities,
  supportsLogProbs: true,
  quantization: 'int4',
} as const;

const model: ChatModel = {
  id: 'tiny',
  capabilities: nothing,
  maxChoices: 4,
  maxCompletionTokens: 128,
  inputAdapters: {},
  contextLength: 256,
  systemPrompt: 'Be kind.',
  constraints: null,
  suffix: {},
};

const hello = { model: 'tiny', messages: [{ role: 'user', content: 'Hello' }] };

function normalize(changes: object, changedModel: Partial<ChatModel> = {}): NormalizedChat {
  const request = validateBody(ChatCompletionRequest, structuredClone({ ...hello, ...changes }));
  return normalizeChat(request, { ...model, ...changedModel });
}

function refusalOf(changes: object, changedModel: Partial<ChatModel> = {}): PlatformError {
  try {
    normalize(changes, changedModel);
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
  throw new Error('the request was accepted');
}

describe('every sampling option', () => {
  const wire = new Set<string>(ruleNamesOf(ChatCompletionRequest).keys());

  it.each(samplingFields)('$option is a field of the wire: $field', ({ option, field }) => {
    expect(wire.has(field)).toBe(true);
    expect(normalize({ [field]: 1 }).payload.sampling).toEqual({ [option]: 1 });
  });
});

describe('the accepted fields of a chat request', () => {
  it.each([
    ['messages', { messages: [] }],
    ['messages', { messages: 'Hello' }],
    ['messages', { messages: null }],
    ['messages[0]', { messages: ['Hello'] }],
    ['messages[0].role', { messages: [{ role: 'robot', content: 'x' }] }],
    ['messages[0].role', { messages: [{ role: 'constructor', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content', { messages: [{ role: 'assistant' }] }],
    ['messages[1].content', { messages: [...hello.messages, { role: 'user', content: [] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'system', content: [{ type: 'image_url' }] }] }],
    ['model', { model: 7 }],
    ['temperature', { temperature: 2.1 }],
    ['temperature', { temperature: '1' }],
    ['top_p', { top_p: -0.1 }],
    ['top_k', { top_k: 1.5 }],
    ['min_p', { min_p: 2 }],
    ['min_temp', { min_temp: 1.5, max_temp: 0.5 }],
    ['frequency_penalty', { frequency_penalty: 3 }],
    ['repetition_penalty', { repetition_penalty: -1 }],
    ['n', { n: 0 }],
    ['n', { n: 5 }],
    ['seed', { seed: -1 }],
    ['top_k', { top_k: -2 }],
    ['stop', { stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['stop', { stop: [1] }],
    ['logprobs', { logprobs: 'yes' }],
    ['logprobs', { logprobs: 5 }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['max_completion_tokens', { max_completion_tokens: 0 }],
    ['max_completion_tokens', { max_completion_tokens: 129 }],
    ['max_tokens', { max_tokens: 129 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['stream', { stream: 'true' }],
    ['stream_options.include_usage', { stream_options: { include_usage: 1 } }],
    ['metadata', { metadata: { a: 1 } }],
    ['service_parameters.enable_web_search', { service_parameters: { enable_web_search: 'maybe' } }],
    ['stop_token_ids', { stop_token_ids: ['a'] }],
    ['reasoning_effort', { reasoning_effort: 'huge' }],
    ['messages[0].reasoning', { messages: [{ role: 'assistant', content: 'A', reasoning: 7 }] }],
    [
      'messages[0].reasoning_details[0].type',
      { messages: [{ role: 'assistant', content: 'A', reasoning_details: [{}] }] },
    ],
  ])('rejects an invalid %s', (param, changes) => {
    const error = refusalOf(changes);
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.param).toBe(param);
    expect(error.message).toContain(param);
    expect(error.issues?.length).toBeGreaterThan(0);
  });

  it('takes a top_logprobs of 0 without logprobs, as libraries write it', () => {
    expect(normalize({ logprobs: false, top_logprobs: 0 }).payload.topLogprobs).toBeNull();
    expect(normalize({ top_logprobs: 0 }).payload.topLogprobs).toBeNull();
    expect(normalize({ logprobs: true, top_logprobs: 0 }).payload.topLogprobs).toBe(0);
  });

  it('ignores a max_tokens of zero or less, and prefers max_completion_tokens', () => {
    expect(normalize({ max_tokens: -1 }).payload.maxTokens).toBe(model.maxCompletionTokens);
    expect(normalize({ max_tokens: 0 }).payload.maxTokens).toBe(model.maxCompletionTokens);
    expect(normalize({ max_tokens: 9, max_completion_tokens: 5 }).payload.maxTokens).toBe(5);
  });

  it('takes only open fields from the model', () => {
    const constraints = {
      temperature: { default: 0.7 },
      top_p: { default: 0.95 },
      repetition_penalty: { default: 1.1 },
    };
    const sampling = (changes: object) => normalize(changes, { constraints }).payload.sampling;
    expect(sampling({})).toEqual({ temperature: 0.7, topP: 0.95, repetitionPenalty: 1.1 });
    expect(sampling({ temperature: 0, top_p: null })).toMatchObject({ temperature: 0, topP: 0.95 });
  });

  it("limits an unbounded completion to the model's maximum", () => {
    expect(normalize({}).payload.maxTokens).toBe(model.maxCompletionTokens);
  });

  it('accepts null for every optional field, and undocumented fields', () => {
    const { payload } = normalize({
      temperature: null,
      stop: null,
      tools: null,
      logprobs: null,
      n: null,
      invented: { a: 1 },
    });
    expect(payload).toMatchObject({ n: 1, stop: [], topLogprobs: null, sampling: {} });
  });
});

describe('the response format', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const format = (changes: Record<string, unknown>) => normalize(changes).payload.format;

  it('comes from either field, with the name of the one that holds the schema', () => {
    expect(format({})).toBeUndefined();
    expect(format({ response_format: { type: 'text' } })).toBeUndefined();
    expect(format({ response_format: { type: 'json_object' } })).toEqual({
      type: 'json-object',
      param: 'response_format',
    });
    const named = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } };
    expect(format({ response_format: named })).toEqual({
      type: 'json-schema',
      schema,
      strict: true,
      param: 'response_format.json_schema.schema',
    });
    expect(format({ response_schema: schema })).toEqual({ type: 'json-schema', schema, param: 'response_schema' });
    expect(format({ response_schema: schema, response_format: { type: 'text' } })?.schema).toEqual(schema);
    expect(format({ response_format: { type: 'json_schema', json_schema: { name: 'a' } } })?.schema).toEqual({});
  });

  it('may have its schema in a json_object', () => {
    expect(format({ response_format: { type: 'json_object', schema } })).toEqual({
      type: 'json-schema',
      schema,
      param: 'response_format.schema',
    });
    expect(refusalOf({ response_format: { type: 'json_object', schema: 'x' } }).param).toBe('response_format');
  });

  it('may be a pattern or a grammar', () => {
    expect(format({ response_format: { type: 'regex', pattern: 'a+' } })).toEqual({
      type: 'regex',
      pattern: 'a+',
      param: 'response_format.pattern',
    });
    expect(format({ response_format: { type: 'grammar', grammar: 'root ::= "a"' } })).toEqual({
      type: 'grammar',
      grammar: 'root ::= "a"',
      param: 'response_format.grammar',
    });
    for (const response_format of [{ type: 'regex' }, { type: 'grammar', grammar: 3 }, { type: 'xml' }]) {
      expect(refusalOf({ response_format })).toMatchObject({ code: 'INVALID_REQUEST', param: 'response_format' });
    }
  });

  it('is refused where both fields name one, and where a schema is longer than a megabyte', () => {
    const both = { response_schema: schema, response_format: { type: 'json_object' } };
    expect(refusalOf(both).param).toBe('response_schema');
    const long = { response_schema: { title: 'x'.repeat(1_000_001) } };
    expect(refusalOf(long)).toMatchObject({ code: 'INVALID_REQUEST', param: 'response_schema' });
  });
});

describe('features that the model does not support', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };

  it.each([
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tools[0].type', { tools: [{ type: 'x_search' }] }],
    ['messages[0].content[1]', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, image] }] }],
    ['reasoning_effort', { reasoning_effort: 'high' }],
    ['reasoning.effort', { reasoning: { effort: 'low' } }],
    ['reasoning.enabled', { reasoning: { enabled: true } }],
    ['reasoning.summary', { reasoning: { summary: 'concise' } }],
    ['service_parameters.enable_web_search', { service_parameters: { enable_web_search: 'on' } }],
    ['service_parameters.enable_x_search', { service_parameters: { enable_x_search: true } }],
    ['service_parameters.enable_web_scraping', { service_parameters: { enable_web_scraping: true } }],
  ])('rejects an invalid %s', (param, changes) => {
    const error = refusalOf(changes);
    expect(error.code).toBe('INVALID_REQUEST');
    expect(error.param).toBe(param);
    expect(error.message).toContain('The model tiny does not support');
  });

  it.each([['messages[0].content[0]', { messages: [{ role: 'user', content: [image] }] }]])(
    'rejects a feature that only the manifest claims: %s',
    (param, changes) => {
      const capabilities = {
        ...nothing,
        supportsVision: true,
      };
      expect(refusalOf(changes, { capabilities }).param).toBe(param);
      expect(normalize({ response_format: { type: 'text' } }, { capabilities }).payload.n).toBe(1);
    },
  );

  it('rejects logprobs for a model without them', () => {
    expect(refusalOf({ logprobs: true }, { capabilities: { ...nothing, supportsLogProbs: false } }).param).toBe(
      'logprobs',
    );
  });

  it('accepts only the efforts that a model lists', () => {
    const capabilities = {
      ...nothing,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      reasoningEffortOptions: ['low'],
    };
    expect(refusalOf({ reasoning_effort: 'high' }, { capabilities }).message).toContain('low');
    expect(normalize({ reasoning_effort: 'low' }, { capabilities }).payload.n).toBe(1);
  });

  it('sends no effort if reasoning is disabled', () => {
    const off = { reasoning: { enabled: false, effort: 'max' } };
    expect(normalize(off).payload).toMatchObject({ enableThinking: false });
    expect(normalize({ ...off, reasoning_effort: 'high' }).payload).not.toHaveProperty('reasoningEffort');
  });

  it('returns 404 for an unknown character', () => {
    expect(refusalOf({ service_parameters: { character_slug: 'ada' } }).code).toBe('CHARACTER_NOT_FOUND');
  });

  it('puts the prompt of a character after the default one, as the platform’s own', () => {
    const ada = { characterPrompt: 'You are Ada.' };
    const parameters = (more: object) => ({ service_parameters: { character_slug: 'ada', ...more } });
    const messages = [{ role: 'system', content: 'Be brief.' }, ...hello.messages];
    const both = normalize({ messages, ...parameters({}) }, ada).payload;
    expect(both.messages[0]?.content).toBe('Be kind.\n\nYou are Ada.\n\nBe brief.');
    expect(both.platformCharacters).toBe('Be kind.\n\nYou are Ada.'.length);
    const alone = normalize(parameters({ include_service_system_prompt: false }), ada).payload;
    expect(alone.messages[0]?.content).toBe('You are Ada.');
    expect(alone.platformCharacters).toBe('You are Ada.'.length);
  });

  it('rejects a prompt whose bytes alone cannot fit', () => {
    const error = refusalOf({ messages: [{ role: 'user', content: 'x'.repeat(256 * 257) }] });
    expect([error.code, error.param]).toEqual(['TOO_MANY_TOKENS', 'messages']);
  });
});

describe('accepted fields without an effect', () => {
  it('are those that clients send for no value', () => {
    const none = { seed: 0, stop: [], top_k: -1, prompt_cache_retention: 'in_memory', n: 1 };
    expect(normalize(none).payload).toMatchObject({ stop: [], sampling: { topK: 0 } });
    expect(normalize(none).payload.sampling).not.toHaveProperty('seed');
    expect(normalize(none).payload.cacheSeconds).toBeUndefined();
  });
});

describe('the part of a prompt to cache', () => {
  const marked = (ttl?: string) => ({ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl } });
  const asking = (...content: object[]) => normalize({ messages: [{ role: 'user', content }] }).payload;

  it('ends where the last mark of a message is', () => {
    const { messages } = asking(marked(), { type: 'text', text: 'Bye' });
    expect(messages.at(-1)).toMatchObject({ content: 'Hello\nBye', cacheMark: 5 });
    expect(asking(marked(), { type: 'text', text: 'a' }, marked()).messages.at(-1)?.cacheMark).toBe(13);
    expect(asking({ type: 'text', text: 'Hello' }).messages.at(-1)).not.toHaveProperty('cacheMark');
  });

  it.each([
    [undefined, 300],
    ['5m', 300],
    ['1h', 3_600],
    ['90s', 90],
    ['24h', 86_400],
  ])('is kept for a ttl of %s', (ttl, seconds) => {
    expect(asking(marked(ttl)).cacheSeconds).toBe(seconds);
  });

  it('is kept for the longest time that a mark or the retention asks for', () => {
    expect(asking(marked('1h'), marked('2m')).cacheSeconds).toBe(3_600);
    expect(normalize({ prompt_cache_retention: '24h' }).payload.cacheSeconds).toBe(86_400);
    expect(normalize({ prompt_cache_retention: 'extended' }).payload.cacheSeconds).toBe(86_400);
    expect(normalize({ prompt_cache_retention: 'default' }).payload.cacheSeconds).toBeUndefined();
    expect(normalize({}).payload.cacheSeconds).toBeUndefined();
  });

  it.each(['soon', '0s', '25h', '-5m', '5', ''])('is refused with a ttl of %j', (ttl) => {
    const param = 'messages[0].content[0].cache_control.ttl';
    expect(refusalOf({ messages: [{ role: 'user', content: [marked(ttl)] }] })).toMatchObject({ param });
  });
});

describe('fields of other services that no model here fulfils', () => {
  it.each([
    ['modalities', { modalities: ['text', 'audio'] }],
    ['audio', { audio: { voice: 'alloy', format: 'mp3' } }],
    ['web_search_options', { web_search_options: {} }],
    ['service_parameters.enable_web_search', { service_parameters: { enable_web_search: 'on' } }],
    ['service_parameters.enable_x_search', { service_parameters: { enable_x_search: true } }],
  ])('are refused by name: %s', (param, changes) => {
    // Whatever the manifest declares.
    const capabilities = { ...nothing, supportsWebSearch: true, supportsXSearch: true };
    expect(refusalOf(changes, { capabilities })).toMatchObject({ code: 'INVALID_REQUEST', param });
  });

  it.each([
    ['more entries than 300', Object.fromEntries(Array.from({ length: 301 }, (_, id) => [id, 1])), '300 entries'],
    ['a key that is no token id', { '-1': 1 }, '"-1"'],
    ['a text for a bias', { 7: '1' }, 'one of 7'],
    ['a bias beyond 100', { 7: 1, 8: -100.5 }, 'one of 8'],
    ['a list', [1], 'an object'],
  ])('are biases with %s, which are refused', (_what, biases, words) => {
    const call = () =>
      validateBody(ChatCompletionRequest, {
        model: 'm',
        messages: [{ role: 'user', content: 'x' }],
        logit_bias: biases,
      });
    expect(call).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        param: 'logit_bias',
        message: expect.stringContaining(words),
      }),
    );
  });

  it('are ignored where they ask for nothing', () => {
    const nothingAsked = { modalities: ['text'], audio: null, logit_bias: {}, web_search_options: null };
    expect(normalize(nothingAsked).payload).toEqual(normalize({}).payload);
  });
});

describe('accepted fields without an effect', () => {
  it.each([
    ['verbosity', { verbosity: 'low' }, ChatCompletionRequest],
    ['verbosity', { text: { verbosity: 'low' } }, ChatTextOptions],
    ['metadata', { metadata: { a: 'b' } }, ChatCompletionRequest],
  ])('are marked as such in the document: %s in %j', (name, changes, owner) => {
    expect(normalize(changes).payload).toEqual(normalize({}).payload);
    const property = Reflect.getMetadata('swagger/apiModelProperties', owner.prototype as object, name) as object;
    expect(property).toMatchObject({ description: expect.stringContaining('Accepted without effect') });
  });
});

describe('the conversation', () => {
  it('starts with the default prompt, then merges the client’s system and developer messages', () => {
    const { payload } = normalize({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be funny.' }] },
        ...hello.messages,
        { role: 'system', content: 'Now.' },
      ],
    });
    expect(payload.messages).toEqual([
      { role: 'system', content: 'Be kind.\n\nBe brief.\n\nBe funny.' },
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'Now.' },
    ]);
  });

  it('omits the default prompt if the body or the suffix says so', () => {
    const off = { service_parameters: { include_service_system_prompt: false } };
    expect(normalize(off).payload.messages).toEqual(hello.messages);
    expect(normalize({}, { suffix: { include_service_system_prompt: 'false' } }).payload.messages).toEqual(
      hello.messages,
    );
  });

  it('prefers the body to the suffix', () => {
    const suffix = { strip_thinking_response: 'true' };
    expect(normalize({}, { suffix }).payload.stripThinking).toBe(true);
    expect(
      normalize({ service_parameters: { strip_thinking_response: false } }, { suffix }).payload.stripThinking,
    ).toBe(false);
  });

  it.each<Record<string, string>>([{ speed: 'fast' }, { strip_thinking_response: 'perhaps' }, { constructor: '1' }])(
    'rejects the suffix %j on model',
    (suffix) => {
      expect(refusalOf({}, { suffix }).param).toBe('model');
    },
  );

  it('disables thinking in each of the three ways', () => {
    const off = { enableThinking: false };
    expect(normalize({ service_parameters: { disable_thinking: true } }).payload).toMatchObject({
      ...off,
      stripThinking: true,
    });
    expect(normalize({ reasoning: { enabled: false } }).payload).toMatchObject(off);
    expect(normalize({ reasoning_effort: 'none' }).payload).toMatchObject(off);
    expect(normalize({}).payload.enableThinking).toBeUndefined();
  });

  it("passes on the named effort, otherwise the model's", () => {
    const capabilities = {
      ...nothing,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      reasoningEffortOptions: ['none', 'low', 'high'],
      defaultReasoningEffort: 'low',
    };
    const effortOf = (changes: object, by: ChatModel['capabilities'] = capabilities) =>
      normalize(changes, { capabilities: by }).payload.reasoningEffort;
    expect(effortOf({ reasoning_effort: 'high', reasoning: { effort: 'low' } })).toBe('high');
    expect(effortOf({ reasoning: { effort: 'high' } })).toBe('high');
    expect(effortOf({ reasoning_effort: 'none' })).toBe('none');
    expect(effortOf({})).toBe('low');
    expect(effortOf({ reasoning: { enabled: false } })).toBeUndefined();
    expect(effortOf({ service_parameters: { disable_thinking: true } })).toBeUndefined();
    expect(effortOf({}, { ...capabilities, defaultReasoningEffort: undefined })).toBeUndefined();
    // The model cannot think, so `none` changes nothing.
    expect(effortOf({ reasoning_effort: 'none' }, nothing)).toBeUndefined();
  });

  it('bounds reasoning by the budget of its effort', () => {
    const capabilities = {
      ...nothing,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      reasoningEffortOptions: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    };
    const budgetOf = (effort: string, thinkingBudgets?: Record<string, number>) =>
      normalize({ reasoning_effort: effort }, { capabilities, thinkingBudgets }).payload.thinkingBudget;
    expect(capabilities.reasoningEffortOptions.map((effort) => budgetOf(effort))).toEqual([
      undefined,
      256,
      1_024,
      4_096,
      16_384,
      undefined,
      undefined,
    ]);
    expect([budgetOf('low', { low: 7 }), budgetOf('high', { low: 7 })]).toEqual([7, undefined]);
    expect(normalize({}, { capabilities }).payload).not.toHaveProperty('thinkingBudget');
  });

  it('takes reasoning back under each name that it was sent, the most exact first', () => {
    const reasoningOf = (members: object) =>
      normalize({
        messages: [...hello.messages, { role: 'assistant', content: 'A', ...members }, ...hello.messages],
      }).payload.messages.find(({ role }) => role === 'assistant')?.reasoningContent;
    const pieces = ['a', 'b'].map((text) => ({ type: 'reasoning.text', text, format: 'unknown', index: 0 }));
    const other = { type: 'reasoning.text', text: 'c', index: 1 };
    expect(reasoningOf({ reasoning_details: [...pieces, other] })).toBe('ab\nc');
    expect(reasoningOf({ reasoning: 'x', reasoning_details: pieces })).toBe('x');
    expect(reasoningOf({ reasoning_content: 'y', reasoning: 'x', thought_signature: 's' })).toBe('y');
    expect(reasoningOf({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AA==' }] })).toBeUndefined();
    expect(reasoningOf({ reasoning_content: null, reasoning: null })).toBeUndefined();
  });

  it("follows the model's default of not thinking unless the request enables it", () => {
    const capabilities = {
      ...nothing,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      reasoningEffortOptions: ['none', 'low'],
      defaultReasoningEffort: 'none',
    };
    const thinkingOf = (changes: object) => {
      const { enableThinking, reasoningEffort } = normalize(changes, { capabilities }).payload;
      return [enableThinking, reasoningEffort];
    };
    expect(thinkingOf({})).toEqual([false, 'none']);
    expect(thinkingOf({ reasoning: { enabled: true } })).toEqual([true, undefined]);
    expect(thinkingOf({ reasoning_effort: 'low' })).toEqual([undefined, 'low']);
  });

  it('passes on every sampling option', () => {
    const sampling = { temperature: 0, top_p: 0.5, top_k: 0, min_p: 0.1, min_temp: 0.2, max_temp: 0.9, seed: 7 };
    expect(normalize({ ...sampling, repetition_penalty: 1, logprobs: true, top_logprobs: 3 }).payload).toMatchObject({
      sampling: {
        temperature: 0,
        topP: 0.5,
        topK: 0,
        minP: 0.1,
        minTemperature: 0.2,
        maxTemperature: 0.9,
        seed: 7,
        repetitionPenalty: 1,
      },
      topLogprobs: 3,
    });
  });
});

describe('any request', () => {
  const wild = fc.jsonValue({ maxDepth: 2 });
  const near = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 40, arbitrary }, { weight: 1, arbitrary: wild });
  const tool = near(
    fc.record({
      type: near(fc.constant('function')),
      function: near(fc.record({ name: near(fc.constantFrom('a', 'b')), parameters: near(fc.constant({})) })),
    }),
  );
  const part = near(fc.record({ type: near(fc.constant('text')), text: near(fc.string({ minLength: 1 })) }));
  const message = near(
    fc.record({
      role: near(fc.constantFrom('system', 'developer', 'user', 'assistant')),
      content: near(fc.oneof(fc.string(), fc.array(part, { minLength: 1, maxLength: 3 }))),
      tool_call_id: near(fc.string()),
    }),
  );
  const request = fc.record(
    {
      model: near(fc.constant('tiny')),
      messages: near(fc.array(message, { minLength: 1, maxLength: 4 })),
      n: near(fc.integer({ min: 1, max: 4 })),
      max_tokens: near(fc.integer({ min: -2, max: 128 })),
      stop: near(fc.array(fc.string(), { maxLength: 4 })),
      temperature: near(fc.double({ min: 0, max: 2, noNaN: true })),
      seed: near(fc.integer({ min: 0 })),
      logprobs: near(fc.constant(true)),
      top_logprobs: near(fc.integer({ min: 0, max: 20 })),
      tools: near(fc.oneof(fc.constant(null), fc.array(tool, { maxLength: 2 }))),
      tool_choice: near(fc.constantFrom(null, 'auto', 'required', { type: 'function', function: { name: 'a' } })),
      functions: near(fc.constant(null)),
      response_format: near(fc.constant(null)),
      reasoning: near(fc.constant(null)),
      service_parameters: near(fc.constant(null)),
    },
    { requiredKeys: ['model', 'messages'] },
  );

  it('is either rejected with a documented error or becomes a payload that the worker accepts', () => {
    let accepted = 0;
    fc.assert(
      fc.property(request, (body) => {
        try {
          const { payload } = normalizeChat(validateBody(ChatCompletionRequest, body), model);
          expect(validateSync(plainToInstance(ChatJobPayload, payload))).toEqual([]);
          accepted += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(PlatformError);
        }
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});

describe('a sealed conversation', () => {
  const { publicKey } = createHostIdentity();
  const sealing = { clientPublicKey: publicKey, hostPublicKey: publicKey };
  const seal = (text: string): string => sealText(text, Buffer.from(publicKey, 'hex'));

  it('stays as it came, without prompts of the platform', () => {
    const content = seal('Hello');
    const { payload, parameters } = normalize({ stream: true, messages: [{ role: 'user', content }] }, { sealing });
    expect(payload).toMatchObject({ messages: [{ role: 'user', content }], sealing });
    expect(payload).not.toHaveProperty('platformCharacters');
    expect(parameters.include_service_system_prompt).toBe(false);
  });

  it('is as long as what it opens to', () => {
    const longest = 256 * model.contextLength;
    const messages = (bytes: number) => ({ messages: [{ role: 'user', content: seal('x'.repeat(bytes)) }] });
    expect(normalize(messages(longest), { sealing }).payload.sealing).toEqual(sealing);
    expect(refusalOf(messages(longest + 1), { sealing }).code).toBe('TOO_MANY_TOKENS');
  });
});

describe('the versions of one request', () => {
  it('have their schemas examined once', () => {
    const request = validateBody(ChatCompletionRequest, hello);
    const withTool = (parameters: object): ChatCompletionRequest => ({
      ...request,
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
    });
    const checked = normalizeChat(withTool({ type: 'object', unknown: 1 }), model);
    expect(checked.warnings).toMatchObject([{ code: 'schema_keywords_ignored' }]);
    // Malformed, so that looking at it again would fail.
    const other = withTool({ type: 'object', minProperties: -1 });
    expect(() => normalizeChat(other, model)).toThrow('must be a whole number');
    expect(normalizeChat(other, model, {}, checked).warnings).toBe(checked.warnings);
  });
});
