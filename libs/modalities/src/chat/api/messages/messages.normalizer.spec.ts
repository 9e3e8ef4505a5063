import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { noCapabilities } from '#model-registry/manifest';
import { validateBody } from '#platform/validation';
import { MessagesCountRequest, MessagesRequest } from '../../contract/messages/messages.request.js';
import type { ChatModel } from '../job/chat.model.js';
import { normalizeChat } from '../job/chat.normalizer.js';
import { refuseUnknown, translateMessages } from './messages.normalizer.js';

const user = { role: 'user', content: 'Hello' };
const openSignature = (signature: string) => (signature.startsWith('sealed ') ? signature.slice(7) : null);

/** Reads a body as the route does. */
function translate(changes: object) {
  const body = validateBody(MessagesRequest, { model: 'm', max_tokens: 64, messages: [user], ...changes });
  refuseUnknown(MessagesRequest, body);
  return translateMessages(body, openSignature);
}

const model: ChatModel = {
  id: 'm',
  capabilities: { ...noCapabilities, supportsResponseSchema: true, supportsReasoning: true },
  maxChoices: 4,
  maxCompletionTokens: 100,
  contextLength: 100_000,
  inputAdapters: {},
  systemPrompt: null,
  constraints: null,
  suffix: {},
};

/** The job payload and the warnings of a body. */
function normalize(changes: object, modelChanges: Partial<ChatModel> = {}) {
  const { chat, thinkingBudget } = translate(changes);
  return normalizeChat(chat, { ...model, reducesToModel: true, thinkingBudget, ...modelChanges });
}

/** The field and the message of a refusal. */
function refusal(changes: object): { param: string | null; message: string } {
  try {
    translate(changes);
  } catch (error) {
    if (error instanceof PlatformError) return { param: error.param, message: error.message };
    throw error;
  }
  throw new Error('the request was expected to be refused');
}

const tool = { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };
const call = { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } };

/** A mark of the cache. */
const ofAnHour = { cache_control: { type: 'ephemeral', ttl: '1h' } };

describe('a Messages request', () => {
  it('becomes a chat with the same parameters', () => {
    const { chat } = translate({
      system: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['END'],
      stream: true,
      metadata: { user_id: 'u' },
      service_tier: 'auto',
    });
    expect(chat).toEqual({
      model: 'm',
      messages: [{ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }, user],
      stream: true,
      max_completion_tokens: 64,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop: ['END'],
      user: 'u',
      service_parameters: { disable_thinking: true },
    });
  });

  it('keeps the order of blocks and the marks of caches', () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
    const { chat } = translate({
      system: [
        { type: 'text', text: 'One.' },
        { type: 'text', text: '' },
        { type: 'text', text: 'Two.', ...mark },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
            { type: 'text', text: 'What is this?', ...mark },
          ],
        },
      ],
    });
    expect(chat.messages).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'One.' },
          { type: 'text', text: 'Two.', ...mark },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
          { type: 'text', text: 'What is this?', ...mark },
        ],
      },
    ]);
  });

  it('keeps the prompt as long as the longest of its marks asks for', () => {
    expect(normalize({}).payload.cacheSeconds).toBeUndefined();
    expect(normalize({ cache_control: { type: 'ephemeral' } }).payload.cacheSeconds).toBe(300);
    const marked = { ...tool, ...ofAnHour };
    expect(normalize({ tools: [marked], system: 'Be brief.' }).payload.cacheSeconds).toBe(3_600);
    expect(normalize({ tools: [marked] }).payload.cacheSeconds).toBe(3_600);
    const reply = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { ...call, ...ofAnHour },
      ],
    };
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] };
    expect(normalize({ messages: [user, reply, result] }).payload.cacheSeconds).toBe(3_600);
  });

  it('takes a document of any number of blocks', () => {
    const content = Array.from({ length: 150_000 }, () => ({ type: 'text', text: 'a', ...ofAnHour }));
    const document = { type: 'document', source: { type: 'content', content } };
    const { payload } = normalize({ messages: [{ role: 'user', content: [document] }] });
    expect(payload.messages.at(-1)?.content).toHaveLength(2 * content.length - 1);
    expect(payload.cacheSeconds).toBe(3_600);
  });

  it('reads documents as files and texts', () => {
    const { chat } = translate({
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'a.pdf',
              context: 'A report.',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
              citations: { enabled: false },
            },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hé' } },
            { type: 'document', source: { type: 'url', url: 'https://example.org/b.pdf' } },
            { type: 'document', title: 'Notes', source: { type: 'content', content: 'A note.' } },
          ],
        },
      ],
    });
    expect(chat.messages[0]?.content).toEqual([
      { type: 'text', text: 'A report.' },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } },
      { type: 'file', file: { file_data: 'data:text/plain;base64,aMOp' } },
      { type: 'file', file: { file_data: 'https://example.org/b.pdf' } },
      { type: 'text', text: 'Notes' },
      { type: 'text', text: 'A note.' },
    ]);
  });

  it('replays calls, results and what follows them', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const { chat } = translate({
      tools: [tool],
      messages: [
        user,
        { role: 'assistant', content: [{ type: 'text', text: 'Let me see.', citations: null }, call] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'Sunny.' }, image] },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    expect(chat.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me see.' }],
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'Sunny.' }] },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'text', text: 'And now?' },
        ],
      },
    ]);
  });

  it.each([
    [{ content: 'No such city.', is_error: true }, [{ type: 'text', text: 'Error: No such city.' }]],
    [{ is_error: true }, [{ type: 'text', text: 'Error: the tool failed.' }]],
    [{ content: 'Fine.', is_error: false }, [{ type: 'text', text: 'Fine.' }]],
    [{}, ''],
    [{ content: [] }, ''],
  ])('shows the model the result %j', (members, content) => {
    const messages = [
      user,
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', ...members }] },
    ];
    const { chat } = translate({ tools: [tool], messages });
    expect(chat.messages.slice(2)).toEqual([{ role: 'tool', tool_call_id: 'call_1', content }]);
  });

  it('brings reasoning back, by its signature where the text was omitted', () => {
    const thought = (members: object) => [
      user,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', ...members },
          { type: 'text', text: 'Hi.' },
        ],
      },
      user,
    ];
    const reasoning = (members: object) =>
      (translate({ messages: thought(members) }).chat.messages[1] as { reasoning_content?: string }).reasoning_content;
    expect(reasoning({ thinking: 'So.', signature: 'of another service' })).toBe('So.');
    expect(reasoning({ thinking: '', signature: 'sealed Secret.' })).toBe('Secret.');
    expect(reasoning({ thinking: '', signature: '' })).toBeUndefined();
    expect(refusal({ messages: thought({ thinking: '', signature: 'of another service' }) }).param).toBe(
      'messages[1].content[0].signature',
    );
  });

  it.each([
    [{ type: 'auto' }, 'auto', undefined],
    [{ type: 'any', disable_parallel_tool_use: true }, 'required', false],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'get_weather' }, { type: 'function', function: { name: 'get_weather' } }, undefined],
  ])('translates the choice of tools %j', (choice, expected, parallel) => {
    const { chat } = translate({ tools: [{ ...tool, strict: true, type: 'custom' }], tool_choice: choice });
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'get_weather', parameters: tool.input_schema, strict: true } },
    ]);
    expect([chat.tool_choice, chat.parallel_tool_calls]).toEqual([expected, parallel]);
  });

  it('has the output follow a schema exactly, under either name', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const expected = { type: 'json-schema', schema: format.schema, strict: true };
    expect(normalize({ output_config: { format } }).payload.format).toMatchObject(expected);
    expect(normalize({ output_format: format }).payload.format).toMatchObject(expected);
  });
});

describe('thinking', () => {
  const enabled = { type: 'enabled', budget_tokens: 32 };
  const efforts = { supportsReasoningEffort: true, reasoningEffortOptions: ['low', 'high'] };

  it('is off unless it is asked for, and what a model thinks anyway is left out', () => {
    for (const changes of [{}, { thinking: { type: 'disabled' } }]) {
      expect(normalize(changes).payload).toMatchObject({ enableThinking: false, stripThinking: true });
    }
    expect(normalize({ thinking: { type: 'adaptive' } }).payload).toMatchObject({ stripThinking: false });
    expect(normalize({ thinking: { type: 'adaptive' } }).payload.enableThinking).toBeUndefined();
    expect(normalize({ thinking: enabled }).payload).toMatchObject({
      enableThinking: true,
      stripThinking: false,
      thinkingBudget: 32,
    });
  });

  it('is left out with a warning by a model that cannot', () => {
    const { payload, warnings } = normalize({ thinking: enabled }, { capabilities: noCapabilities });
    expect(payload).not.toHaveProperty('enableThinking');
    expect(payload).not.toHaveProperty('thinkingBudget');
    expect(warnings).toEqual([{ code: 'reduced_to_model', param: 'reasoning.enabled', message: expect.any(String) }]);
    expect(translate({}).names.nameOf('reasoning.enabled')).toBe('thinking.type');
  });

  it.each([
    ['high', 'high', 0],
    ['max', 'high', 1],
    ['medium', 'low', 1],
  ])('uses for the effort %s the effort %s', (effort, used, count) => {
    const capabilities = { ...model.capabilities, ...efforts };
    const { payload, warnings } = normalize(
      { thinking: { type: 'adaptive' }, output_config: { effort } },
      { capabilities },
    );
    expect(payload.reasoningEffort).toBe(used);
    expect(warnings).toHaveLength(count);
  });

  it('drops an effort where the model has none, or thinking is off, with a warning', () => {
    const adaptive = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
    expect(normalize(adaptive).payload).not.toHaveProperty('reasoningEffort');
    expect(normalize(adaptive).warnings).toMatchObject([{ param: 'reasoning.effort' }]);
    expect(translate({ output_config: { effort: 'high' } }).warnings).toMatchObject([
      { code: 'reduced_to_model', param: 'output_config.effort' },
    ]);
    expect(translate(adaptive).warnings).toEqual([]);
  });
});

describe('max_tokens', () => {
  it('is lowered to what the model has, with a warning', () => {
    expect(normalize({ max_tokens: 100 })).toMatchObject({ payload: { maxTokens: 100 }, warnings: [] });
    expect(normalize({ max_tokens: 32_000 })).toMatchObject({
      payload: { maxTokens: 100 },
      warnings: [{ code: 'reduced_to_model', param: 'max_completion_tokens' }],
    });
  });

  it('stays refused beyond the model on other routes', () => {
    const { chat } = translate({ max_tokens: 32_000 });
    expect(() => normalizeChat(chat, model)).toThrow(/max_completion_tokens must not be greater than 100/);
  });
});

describe('a refusal', () => {
  const document = { type: 'document', source: { type: 'url', url: 'https://example.org/b.pdf' } };

  it.each([
    [{ max_tokens: undefined }, 'max_tokens'],
    [{ container: 'c' }, 'container'],
    [{ mcp_servers: [] }, 'mcp_servers'],
    [{ service_parameters: {} }, 'service_parameters'],
    [{ temperature: 1.5 }, 'temperature'],
    [{ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
    [{ metadata: { user_id: 'u', team: 't' } }, 'metadata.team'],
    [{ speed: 'fast' }, 'speed'],
    [{ thinking: { type: 'between_tools' } }, 'thinking.type'],
    [{ thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'enabled', budget_tokens: 64 } }, 'thinking.budget_tokens'],
    [{ thinking: { type: 'adaptive', budget_tokens: 8 } }, 'thinking.budget_tokens'],
    [{ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, 'context_management'],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
    [{ tools: [{ ...tool, name: 'a b' }] }, 'tools[0].name'],
    [{ tools: [{ ...tool, input_examples: [{}] }] }, 'tools[0].input_examples'],
    [{ tools: [{ ...tool, defer_loading: true }] }, 'tools[0].defer_loading'],
    [{ tools: [tool], tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ system: [{ type: 'image' }] }, 'system[0].type'],
    [{ messages: [{ role: 'user', content: [] }] }, 'messages[0].content'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
    [{ messages: [user, { role: 'assistant', content: 'The' }] }, 'messages[1].role'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', bold: true }] }] },
      'messages[0].content[0].bold',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages[0].content[0].source.type',
    ],
    [
      { messages: [{ role: 'user', content: [{ ...document, citations: { enabled: true } }] }] },
      'messages[0].content[0].citations.enabled',
    ],
    [
      { messages: [user, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] }, user] },
      'messages[1].content[0].type',
    ],
  ])('of %j names the field of the client', (changes, param) => {
    const { param: named, message } = refusal(changes);
    expect(named).toBe(param);
    expect(message).toContain(param);
  });

  it('by the pipeline behind names the field of the client too', () => {
    const results = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_9', content: 'x' }] };
    const { chat, names } = translate({ system: 'Be brief.', messages: [user, results] });
    const failing = names.within(() => Promise.resolve(normalizeChat(chat, model)));
    return expect(failing.catch((error: unknown) => error)).resolves.toMatchObject({
      param: 'messages[1].content[0].tool_use_id',
      message: expect.stringContaining('messages[1].content[0].tool_use_id') as string,
    });
  });
});

describe('what coding agents send', () => {
  it('is accepted: marks with a scope, kept thinking, streamed arguments', () => {
    const { chat, warnings } = translate({
      system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral', scope: 'global' } }],
      tools: [{ ...tool, eager_input_streaming: true, defer_loading: false, allowed_callers: ['direct'] }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      thinking: { type: 'adaptive', display: 'omitted' },
      messages: [
        user,
        { role: 'assistant', content: [{ ...call, caller: { type: 'direct' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] },
        { role: 'system', content: 'The user is away.' },
        user,
      ],
      stream: true,
    });
    expect(chat.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'system', 'user']);
    expect(warnings).toEqual([]);
    expect(normalizeChat(chat, model).payload.cacheSeconds).toBe(300);
  });

  it('counts tokens of prompts without an output', () => {
    const counted = { model: 'm', messages: [user, { role: 'assistant', content: 'Hi.' }], tools: [tool] };
    const body = validateBody(MessagesCountRequest, counted);
    refuseUnknown(MessagesCountRequest, body);
    expect(translateMessages(body, openSignature).chat.messages).toHaveLength(2);
    expect(() => refuseUnknown(MessagesCountRequest, { ...counted, max_tokens: 3 })).toThrow('max_tokens');
  });
});
