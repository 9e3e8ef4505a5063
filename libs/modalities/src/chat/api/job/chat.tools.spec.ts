import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { noCapabilities } from '#model-registry/manifest';
import { validateBody } from '#platform/validation';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import { normalizeChat } from './chat.normalizer.js';

const model = {
  id: 'tiny',
  capabilities: noCapabilities,
  maxChoices: 4,
  maxCompletionTokens: 128,
  contextLength: 4096,
  systemPrompt: null,
  constraints: null,
  inputAdapters: {},
  suffix: {},
};
const user = { role: 'user', content: 'Weather?' };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const weather = { type: 'function', function: { name: 'get_weather', description: 'Of a city.', parameters } };
const now = { type: 'function', function: { name: 'now' } };
const format = { type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]{3}' } };
const custom = (changes: object) => ({ type: 'custom', custom: { name: 'patch', ...changes } });
const inGrammar = (changes: object) => custom({ format: { ...format, grammar: { ...format.grammar, ...changes } } });
const named = (name: string) => ({ type: 'function', function: { name } });
const allowed = (mode: string, ...names: string[]) => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: names.map(named) },
});

function normalize(changes: object): ChatJobPayload {
  const body = structuredClone({ model: 'tiny', messages: [user], ...changes });
  return normalizeChat(validateBody(ChatCompletionRequest, body), model).payload;
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

describe('the tools of a request', () => {
  it('become functions with the field of their schema', () => {
    expect(normalize({ tools: [weather, now] }).tools).toEqual([
      {
        name: 'get_weather',
        description: 'Of a city.',
        parameters,
        strict: false,
        param: 'tools[0].function.parameters',
      },
      { name: 'now', parameters: {}, strict: false, param: 'tools[1].function.parameters' },
    ]);
    expect(normalize({}).tools).toBeUndefined();
    expect(normalize({ tools: [], tool_choice: 'none' }).tools).toBeUndefined();
  });

  it.each([
    ['auto', { toolChoice: 'auto' }],
    ['none', { toolChoice: 'none' }],
    ['required', { toolChoice: 'required' }],
    [named('now'), { toolChoice: { name: 'now' } }],
    [allowed('required', 'now'), { toolChoice: 'required', allowedTools: ['now'] }],
    [null, {}],
  ])('are chosen by %j', (choice, members) => {
    const { toolChoice, allowedTools } = normalize({ tools: [weather, now], tool_choice: choice });
    expect({ toolChoice, allowedTools }).toEqual({ toolChoice: undefined, allowedTools: undefined, ...members });
  });

  it('are called one at a time beside a response format', () => {
    const format = { response_format: { type: 'json_object' }, tools: [now] };
    expect(normalize(format).parallelToolCalls).toBe(false);
    expect(refusalOf({ ...format, parallel_tool_calls: true }).param).toBe('parallel_tool_calls');
    expect(normalize({ ...format, tool_choice: 'none', parallel_tool_calls: true }).parallelToolCalls).toBe(true);
    expect(normalize({ tools: [now], parallel_tool_calls: false }).parallelToolCalls).toBe(false);
  });

  it('may have the deprecated form', () => {
    const functions = [weather.function, now.function];
    expect(normalize({ functions, function_call: { name: 'now' } })).toMatchObject({
      tools: [{ name: 'get_weather', param: 'functions[0].parameters' }, { name: 'now' }],
      toolChoice: { name: 'now' },
    });
    expect(normalize({ functions, function_call: 'auto' }).toolChoice).toBe('auto');
  });

  it('may be custom, with a format that the model is told and held to', () => {
    const { tools } = normalize({ tools: [custom({ description: 'Edits files.', format }), custom({ name: 'note' })] });
    const parameters = {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    };
    expect(tools).toEqual([
      {
        name: 'patch',
        description: 'Edits files.\n\nThe input follows this pattern:\n[a-z]{3}',
        parameters,
        strict: false,
        param: 'tools[0].custom.format.grammar.definition',
        textFormat: { argument: 'input', syntax: 'regex', definition: '[a-z]{3}' },
      },
      { name: 'note', parameters, strict: false, param: 'tools[1].custom' },
    ]);
    expect(normalize({ tools: [custom({ format: { type: 'text' } })] }).tools?.[0]).not.toHaveProperty('textFormat');
  });

  it('are chosen by type and name, custom ones too', () => {
    const chosen = { type: 'custom', custom: { name: 'patch' } };
    const tools = [now, custom({})];
    expect(normalize({ tools, tool_choice: chosen, parallel_tool_calls: false })).toMatchObject({
      toolChoice: { name: 'patch' },
      parallelToolCalls: false,
    });
    const some = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [chosen, named('now')] } };
    expect(normalize({ tools, tool_choice: some })).toMatchObject({
      toolChoice: 'auto',
      allowedTools: ['patch', 'now'],
    });
  });

  const many = Array.from({ length: 129 }, (_, index) => named(`f${index}`));
  it.each<[string, object]>([
    ['tools', { tools: many }],
    [
      'tools',
      {
        tools: [
          {
            ...now,
            function: { name: 'a', description: 'x'.repeat(90_000), parameters: { title: 'x'.repeat(950_000) } },
          },
        ],
      },
    ],
    ['tools[1].function.name', { tools: [now, now] }],
    ['tools[0].function.name', { tools: [named('two words')] }],
    ['tools[0].function.name', { tools: [named('x'.repeat(65))] }],
    [
      'tools[0].function.description',
      { tools: [{ ...now, function: { name: 'a', description: 'x'.repeat(100_001) } }] },
    ],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].type', { tools: [{ ...now, type: 'retrieval' }] }],
    ['tools[1].type', { tools: [now, { type: 'web_search' }] }],
    ['tools[0].function.parameters', { tools: [{ ...now, function: { name: 'a', parameters: { type: 'string' } } }] }],
    ['tools[0].custom', { tools: [{ type: 'custom', name: 'patch' }] }],
    ['tools[0].custom.name', { tools: [custom({ name: 'two words' })] }],
    ['tools[1].custom.name', { tools: [named('patch'), custom({})] }],
    ['tools[0].custom.description', { tools: [custom({ description: 'x'.repeat(100_001) })] }],
    ['tools[0].custom.format.type', { tools: [custom({ format: { type: 'json' } })] }],
    ['tools[0].custom.format.grammar', { tools: [custom({ format: { type: 'grammar' } })] }],
    ['tools[0].custom.format.grammar.syntax', { tools: [inGrammar({ syntax: 'bnf' })] }],
    ['tools[0].custom.format.grammar.definition', { tools: [inGrammar({ definition: '' })] }],
    ['tools[0].custom.format.grammar.definition', { tools: [inGrammar({ definition: 'a'.repeat(4_001) })] }],
    ['tool_choice', { tools: [custom({})], tool_choice: { type: 'custom', custom: { name: 'later' } } }],
    ['tool_choice', { tools: [custom({})], tool_choice: { type: 'custom', name: 'patch' } }],
    ['tool_choice', { tools: [custom({})], tool_choice: { type: 'custom', function: { name: 'patch' } } }],
    ['tool_choice', { tool_choice: 'required' }],
    ['tool_choice', { tool_choice: named('now') }],
    ['tool_choice', { tools: [now], tool_choice: named('later') }],
    ['tool_choice', { tools: [now], tool_choice: 'sometimes' }],
    ['tool_choice', { tools: [now], tool_choice: allowed('auto', 'later') }],
    ['tool_choice', { tools: [now], tool_choice: allowed('none', 'now') }],
    ['tool_choice', { tools: [now], tool_choice: allowed('auto') }],
    ['functions', { functions: [now.function], tools: [weather] }],
    ['functions', { functions: [] }],
    ['functions', { functions: many.map((tool) => tool.function) }],
    ['functions[0]', { functions: ['now'] }],
    ['functions[0].name', { functions: [{ name: '' }] }],
    ['functions[0].parameters', { functions: [{ name: 'a', parameters: [] }] }],
    ['functions[1].name', { functions: [now.function, now.function] }],
    ['function_call', { functions: [now.function], function_call: 'required' }],
    ['function_call', { functions: [now.function], function_call: { name: 'later' } }],
    ['function_call', { function_call: 'auto' }],
  ])('are refused by the field that is wrong: %s', (param, changes) => {
    expect(refusalOf(changes)).toMatchObject({ code: 'INVALID_REQUEST', param });
  });
});

describe('the messages of a conversation with tools', () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{"a":1}' } };
  const assistant = { role: 'assistant', content: null, tool_calls: [call] };
  const result = { role: 'tool', tool_call_id: 'call_1', content: 'noon' };

  it('carry the calls and their results', () => {
    const text = { ...call, id: 'call_2', function: { name: 'now', arguments: '' } };
    const messages = [user, { ...assistant, content: 'Wait.', tool_calls: [call, text] }, result];
    expect(normalize({ messages }).messages).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Wait.',
        toolCalls: [
          { id: 'call_1', name: 'now', arguments: '{"a":1}' },
          { id: 'call_2', name: 'now', arguments: '{}' },
        ],
      },
      { role: 'tool', content: 'noon', toolCallId: 'call_1' },
    ]);
  });

  it('carry the calls of custom tools with their input as the one argument', () => {
    const patch = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: '+"a"\n' } };
    const [, { toolCalls } = {}] = normalize({
      messages: [user, { ...assistant, tool_calls: [patch] }, result],
    }).messages;
    expect(toolCalls).toEqual([{ id: 'call_1', name: 'patch', arguments: JSON.stringify({ input: '+"a"\n' }) }]);
  });

  it('have results in text parts, as strings have them', () => {
    const parts = ['noon', 'in Rome'].map((text) => ({ type: 'text', text }));
    const messages = [user, assistant, { ...result, content: parts }];
    expect(normalize({ messages }).messages.at(-1)).toEqual({
      role: 'tool',
      content: 'noon\nin Rome',
      toolCallId: 'call_1',
    });
  });

  it.each(['{"city": "Ro', '[1]', 'Rome', '{"a":1}}'])(
    'show the model arguments that are no object, as a cut response has them: %s',
    (text) => {
      const cut = { ...assistant, tool_calls: [{ ...call, function: { name: 'now', arguments: text } }] };
      const [, { toolCalls = [] } = {}] = normalize({ messages: [user, cut, result] }).messages;
      expect(JSON.parse(toolCalls[0]?.arguments ?? '')).toEqual({ invalid_arguments: text });
    },
  );

  const deprecated = { role: 'assistant', content: null, function_call: { name: 'now', arguments: '{"a":1}' } };
  const answered = { role: 'function', name: 'now', content: 'noon' };

  it('carry the deprecated calls and results as those of tools', () => {
    const messages = [user, deprecated, answered, deprecated, { ...answered, content: 'one' }];
    expect(normalize({ messages }).messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'now', arguments: '{"a":1}' }] },
      { role: 'tool', name: 'now', content: 'noon', toolCallId: 'call_1' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_3', name: 'now', arguments: '{"a":1}' }] },
      { role: 'tool', name: 'now', content: 'one', toolCallId: 'call_3' },
    ]);
  });

  const withFunction = (changes: object) => ({ ...assistant, tool_calls: [{ ...call, ...changes }] });
  it.each<[string, object[]]>([
    ['messages[1].name', [user, answered, deprecated]],
    ['messages[2].name', [user, deprecated, { ...answered, name: 'later' }]],
    ['messages[2].name', [user, deprecated, { role: 'function', content: 'noon' }]],
    ['messages[1].function_call', [user, { ...deprecated, tool_calls: [call] }]],
    ['messages[1].function_call', [user, { ...deprecated, function_call: 'now' }]],
    ['messages[1].function_call.name', [user, { ...deprecated, function_call: { arguments: '{}' } }]],
    ['messages[1].function_call.arguments', [user, { ...deprecated, function_call: { name: 'a', arguments: 1 } }]],
    ['messages[1].role', [user, { ...answered, role: 'observer' }]],
    ['messages[1].tool_call_id', [user, result, assistant]],
    ['messages[2].tool_call_id', [user, assistant, { ...result, tool_call_id: 'call_9' }]],
    ['messages[1].content', [user, { ...assistant, tool_calls: [] }]],
    ['messages[1].tool_calls', [user, { ...assistant, tool_calls: 'none' }]],
    ['messages[1].tool_calls[0]', [user, { ...assistant, tool_calls: [1] }]],
    ['messages[1].tool_calls[0].id', [user, withFunction({ id: '' })]],
    ['messages[1].tool_calls[0].type', [user, withFunction({ type: 'code' })]],
    ['messages[1].tool_calls[0].custom', [user, withFunction({ type: 'custom' })]],
    ['messages[1].tool_calls[0].custom.name', [user, withFunction({ type: 'custom', custom: { input: '' } })]],
    ['messages[1].tool_calls[0].custom.input', [user, withFunction({ type: 'custom', custom: { name: 'a' } })]],
    ['messages[1].tool_calls[0].function', [user, withFunction({ function: null })]],
    ['messages[1].tool_calls[0].function.name', [user, withFunction({ function: { arguments: '{}' } })]],
    ['messages[1].tool_calls[0].function.arguments', [user, withFunction({ function: { name: 'a', arguments: {} } })]],
    ['messages[2].content[0].type', [user, assistant, { ...result, content: [{ type: 'image_url' }] }]],
    ['messages[2].content', [user, assistant, { ...result, content: [] }]],
  ])('are refused by the field that is wrong: %s', (param, messages) => {
    expect(refusalOf({ messages })).toMatchObject({ code: 'INVALID_REQUEST', param });
  });
});
