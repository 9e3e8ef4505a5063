import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { AccountCipher } from '#gateway';
import { findIssues, validateBody } from '#platform/validation';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import { formatOf } from '../job/chat.format.js';
import { toolsOf } from '../job/chat.tools.js';
import { translateResponses } from './responses.normalizer.js';

const sealed = new AccountCipher('5c'.repeat(32), 'reasoning items');
const account = 'account-1';

function translate(body: object) {
  const request = validateBody(ResponsesRequest, { model: 'm', ...body });
  return translateResponses(request, (content) => sealed.open(account, content));
}

function messagesOf(input: unknown, more: object = {}) {
  return translate({ input, ...more }).chat.messages;
}

/** `param` of the refusal. */
function refusalOf(body: object): string | null {
  try {
    const { chat, names } = translate({ input: 'hi', ...body });
    try {
      toolsOf(chat);
    } catch (error) {
      throw names.rename(error);
    }
  } catch (error) {
    expect(error).toBeInstanceOf(PlatformError);
    const { code, param, message } = error as PlatformError;
    expect([code, message.length > 10]).toEqual(['INVALID_REQUEST', true]);
    return param;
  }
  return 'accepted';
}

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const image = 'data:image/png;base64,AAAA';

describe('the input', () => {
  it('may be a text, after the instructions', () => {
    expect(messagesOf('hi', { instructions: 'Be brief.' })).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ]);
  });

  it.each([[''], [[]]])('may be empty: %j', (input) => {
    expect(messagesOf(input)).toEqual([{ role: 'user', content: '' }]);
  });

  it('takes messages with and without type, of every role', () => {
    const items = ['user', 'assistant', 'system', 'developer'].map((role) => ({ role, content: role }));
    expect(messagesOf(items).map(({ role, content }) => [role, content])).toEqual(
      items.map(({ role }) => [role, role]),
    );
    expect(messagesOf(items.map((item) => ({ type: 'message', id: 'msg_1', status: 'completed', ...item })))).toEqual(
      messagesOf(items),
    );
  });

  it('joins text parts of both formats and leaves out empty ones', () => {
    const content = [
      { type: 'input_text', text: 'a' },
      { type: 'input_text', text: '' },
      { type: 'text', text: 'b' },
    ];
    expect(messagesOf([user(content)])).toEqual([{ role: 'user', content: 'a\nb' }]);
    const reply = [
      { type: 'output_text', text: 'a', annotations: [] },
      { type: 'refusal', refusal: 'no' },
    ];
    expect(messagesOf([{ type: 'message', role: 'assistant', content: reply }])[0]?.content).toBe('a\nno');
  });

  it('translates parts of every type', () => {
    const parts = [
      { type: 'input_text', text: 'look' },
      { type: 'input_image', image_url: image, detail: 'high' },
      { type: 'input_image', image_url: { url: image, detail: 'auto' } },
      { type: 'image_url', image_url: image },
      { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' },
      { type: 'input_file', file_url: 'https://example.com/a.txt' },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
    ];
    expect(messagesOf([user(parts)])[0]?.content).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: image } },
      { type: 'image_url', image_url: { url: image } },
      { type: 'image_url', image_url: { url: image } },
      { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' } },
      { type: 'file', file: { file_data: 'https://example.com/a.txt' } },
      parts[6],
      parts[7],
    ]);
  });

  it('makes one turn of reasoning, text and calls that follow one another', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' });
    const output = (id: string, value: unknown) => ({ type: 'function_call_output', call_id: id, output: value });
    const messages = messagesOf([
      user('go'),
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      { type: 'message', role: 'assistant', content: 'calling' },
      call('1'),
      call('2'),
      output('1', 'one'),
      output('2', { two: 2 }),
      { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'then' }] },
      call('3'),
      output('3', [{ type: 'input_text', text: 'three' }]),
      { role: 'assistant', content: 'done' },
    ]);
    const called = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
    expect(messages).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'calling', reasoning_content: 'hm', tool_calls: [called('1'), called('2')] },
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'tool', tool_call_id: '2', content: '{"two":2}' },
      { role: 'assistant', content: '', reasoning_content: 'then', tool_calls: [called('3')] },
      { role: 'tool', tool_call_id: '3', content: 'three' },
      { role: 'assistant', content: 'done' },
    ]);
  });

  it('names the functions of namespaces and of custom tools as the model saw them', () => {
    const messages = messagesOf([
      { type: 'function_call', call_id: '1', namespace: 'calendar', name: 'list', arguments: '{}' },
      { type: 'custom_tool_call', call_id: '2', name: 'patch', input: '+"a"\n', status: 'completed' },
      { type: 'function_call_output', call_id: '1', output: 'one' },
      { type: 'custom_tool_call_output', call_id: '2', output: 'two' },
    ]);
    const called = (id: string, name: string, text: string) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    });
    expect(messages).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [called('1', 'calendar__list', '{}'), called('2', 'patch', String.raw`{"input":"+\"a\"\n"}`)],
      },
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'tool', tool_call_id: '2', content: 'two' },
    ]);
  });

  it('puts images and files that tools return behind the results of the turn', () => {
    const output = (id: string, ...parts: object[]) => ({ type: 'function_call_output', call_id: id, output: parts });
    const file = { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' };
    const input = [
      output('1', { type: 'input_text', text: 'seen' }, { type: 'input_image', image_url: image }),
      output('2', file),
      user('go'),
      output('3', { type: 'input_image', image_url: image }),
    ];
    const imagePart = { type: 'image_url', image_url: { url: image } };
    expect(messagesOf(input)).toEqual([
      { role: 'tool', tool_call_id: '1', content: 'seen' },
      { role: 'tool', tool_call_id: '2', content: 'The result follows.' },
      {
        role: 'user',
        content: [imagePart, { type: 'file', file: { file_data: file.file_data, filename: 'a.txt' } }],
      },
      { role: 'user', content: 'go' },
      { role: 'tool', tool_call_id: '3', content: 'The result follows.' },
      { role: 'user', content: [imagePart] },
    ]);
    const { names } = translate({ input });
    expect(names.nameOf('messages[2].content[0].image_url.url')).toBe('input[0].output[1].image_url');
    expect(names.nameOf('messages[5].content')).toBe('input[3].output.content');
  });

  it.each([
    ['null', null, ''],
    ['a number', 4, '4'],
    ['a list of data', [1, { type: 'row' }], '[1,{"type":"row"}]'],
  ])('writes %s as the result of a function', (_name, output, content) => {
    expect(messagesOf([{ type: 'function_call_output', call_id: '1', output }])[0]?.content).toBe(content);
  });

  it('reads its own encrypted reasoning, and no other', () => {
    const item = (encrypted: string) => ({ type: 'reasoning', summary: [], encrypted_content: encrypted });
    expect(messagesOf([item(sealed.seal(account, 'secret'))])[0]).toMatchObject({ reasoning_content: 'secret' });
    const field = 'input[0].encrypted_content';
    expect(refusalOf({ input: [item(sealed.seal('account-2', 'secret'))] })).toBe(field);
    expect(refusalOf({ input: [item('gAAAAAB')] })).toBe(field);
  });
});

describe('the options', () => {
  it('keep the schema of a json_object, and the name of its field', () => {
    const schema = { type: 'object', properties: { age: { type: 'integer' } } };
    const { chat, names } = translate({ input: 'hi', text: { format: { type: 'json_object', schema } } });
    expect(chat.response_format).toEqual({ type: 'json_object', schema });
    expect(names.nameOf(formatOf(chat)?.param ?? '')).toBe('text.format.schema');
  });

  it('become those of a chat', () => {
    const { chat } = translate({
      input: 'hi',
      stream: true,
      max_output_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      top_logprobs: 2,
      include: ['message.output_text.logprobs'],
      reasoning: { effort: 'low', summary: 'auto' },
      text: {
        format: { type: 'json_schema', name: 'pet', strict: true, schema: { type: 'object' } },
        verbosity: 'low',
      },
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      metadata: { a: 'b' },
      tool_choice: 'none',
      service_parameters: { include_service_system_prompt: false, strip_thinking_response: true },
    });
    expect(chat).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      max_completion_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      logprobs: true,
      top_logprobs: 2,
      reasoning: { effort: 'low' },
      response_format: { type: 'json_schema', json_schema: { name: 'pet', strict: true, schema: { type: 'object' } } },
      verbosity: 'low',
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      metadata: { a: 'b' },
      tool_choice: 'none',
      // Members that the route does not have are dropped.
      service_parameters: { include_service_system_prompt: false },
    });
  });

  it('may be null, absent or without effect', () => {
    const plain = translate({ input: 'hi' }).chat;
    const fields = ['instructions', 'max_output_tokens', 'temperature', 'reasoning', 'text', 'tools', 'tool_choice'];
    const more = [
      'include',
      'metadata',
      'store',
      'previous_response_id',
      'conversation',
      'prompt',
      'truncation',
      'user',
    ];
    const nulls = Object.fromEntries([...fields, ...more].map((field) => [field, null]));
    expect(translate({ input: 'hi', ...nulls }).chat).toEqual(plain);
    const unpadded = { stream_options: { include_obfuscation: true } };
    const idle = { n: 2, stop: 'x', seed: 1, service_tier: 'auto', truncation: 'auto', background: false, ...unpadded };
    expect(translate({ input: 'hi', ...idle, user: 'u', safety_identifier: 's', max_tool_calls: 3 }).chat).toEqual(
      plain,
    );
  });

  it('turn web_search into the parameter of the service', () => {
    const { chat, names } = translate({ input: 'hi', web_search: true });
    expect(chat.service_parameters).toEqual({ enable_web_search: 'on', enable_web_citations: true });
    expect(names.nameOf('service_parameters.enable_web_search')).toBe('web_search');
  });
});

describe('tools', () => {
  const flat = { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true };
  const nested = { type: 'function', function: { name: 'g', parameters: { type: 'object' } } };

  it('are taken flat and nested, and echoed flat', () => {
    const { chat, tools, warnings } = translate({ input: 'hi', tools: [flat, nested] });
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
      { type: 'function', function: { name: 'g', parameters: { type: 'object' }, strict: false } },
    ]);
    expect(tools).toEqual([
      flat,
      { type: 'function', name: 'g', description: null, parameters: { type: 'object' }, strict: false },
    ]);
    expect(warnings).toEqual([]);
  });

  it('of unknown types are skipped with a warning, and fields keep their positions', () => {
    const offline = { type: 'web_search', external_web_access: false };
    const { chat, tools, warnings, names } = translate({
      input: 'hi',
      tools: [{ type: 'local_shell' }, offline, flat, { type: 'image_generation' }],
    });
    expect([chat.tools?.length, tools.length]).toEqual([1, 1]);
    expect(warnings.map(({ code, param }) => [code, param])).toEqual([
      ['tool_skipped', 'tools[0]'],
      ['tool_skipped', 'tools[1]'],
      ['tool_skipped', 'tools[3]'],
    ]);
    expect(names.nameOf('tools[0].function.parameters')).toBe('tools[2].parameters');
  });

  it('of namespaces are functions of joined names, and echoed as they are', () => {
    const inner = { ...flat, name: 'list' };
    const spaces = [
      { type: 'namespace', name: 'calendar', description: 'Dates.', tools: [inner, { type: 'tool_search' }] },
      { type: 'namespace', name: 'mcp__mail__', tools: [inner, { type: 'custom', name: 'sieve' }] },
      { type: 'namespace', name: 'x'.repeat(60), tools: [{ type: 'function', function: { name: 'list' } }] },
    ];
    const { chat, tools, toolNames, names, warnings } = translate({ input: 'hi', tools: [flat, ...spaces] });
    const chatNames = toolsOf(chat).tools?.map(({ name }) => name) ?? [];
    const long = expect.stringMatching(/^x{55}_[0-9a-f]{8}$/) as string;
    expect(chatNames).toEqual(['f', 'calendar__list', 'mcp__mail__list', 'mcp__mail__sieve', long]);
    expect(chatNames.map((name) => toolNames.of(name))).toEqual([
      { name: 'f', isCustom: false },
      { name: 'list', namespace: 'calendar', isCustom: false },
      { name: 'list', namespace: 'mcp__mail__', isCustom: false },
      { name: 'sieve', namespace: 'mcp__mail__', isCustom: true },
      { name: 'list', namespace: 'x'.repeat(60), isCustom: false },
    ]);
    expect(tools).toMatchObject([
      flat,
      { type: 'namespace', name: 'calendar', description: 'Dates.', tools: [inner] },
      { name: 'mcp__mail__', tools: [inner, { type: 'custom', name: 'sieve', format: { type: 'text' } }] },
      { tools: [{ type: 'function', name: 'list' }] },
    ]);
    expect(warnings.map(({ code, param }) => [code, param])).toEqual([['tool_skipped', 'tools[1].tools[1]']]);
    expect(names.nameOf('tools[1].function.parameters')).toBe('tools[1].tools[0].parameters');
    expect(names.nameOf('tools[4].function.name')).toBe('tools[3].tools[0].function.name');
    const choice = { type: 'function', name: 'list', namespace: 'calendar' };
    const chosen = translate({ input: 'hi', tools: spaces, tool_choice: choice }).chat.tool_choice;
    expect(chosen).toEqual({ type: 'function', function: { name: 'calendar__list' } });
  });

  it('with free input are functions of one text, whose format the model is told and held to', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' };
    const patch = { type: 'custom', name: 'patch', description: 'Edits files.', format };
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'patch' }] };
    const { chat, tools, warnings, names } = translate({ input: 'hi', tools: [patch], tool_choice: choice });
    expect(tools).toEqual([patch]);
    const param = 'tools[0].custom.format.grammar.definition';
    expect(toolsOf(chat).tools).toMatchObject([
      {
        name: 'patch',
        description: 'Edits files.\n\nThe input follows this grammar (lark):\nstart: /.+/',
        parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
        textFormat: { argument: 'input', syntax: 'lark', definition: format.definition },
        param,
      },
    ]);
    expect(warnings).toEqual([]);
    expect(names.nameOf(param)).toBe('tools[0].format.definition');
    expect(chat.tool_choice).toMatchObject({ allowed_tools: { tools: [{ function: { name: 'patch' } }] } });
  });

  it.each([[{ type: 'function', name: 'f' }], [{ type: 'function', function: { name: 'f' } }]])(
    'can be chosen: %j',
    (choice) => {
      const chosen = translate({ input: 'hi', tools: [flat], tool_choice: choice }).chat.tool_choice;
      expect(chosen).toEqual({ type: 'function', function: { name: 'f' } });
    },
  );
});

describe('a refusal', () => {
  const items = (...input: unknown[]) => ({ input });

  it.each<[string, object]>([
    ['input', { input: 4 }],
    ['input[0].role', items({ content: 'hi' })],
    ['input[0].type', items({ type: 'computer_call' })],
    ['input[1].content', items(user('a'), user(4))],
    ['input[0].content[0].type', items(user([{ type: 'input_sound' }]))],
    ['input[0].content[0].type', items({ role: 'system', content: [{ type: 'input_image', image_url: image }] })],
    ['input[0].content[0].file_id', items(user([{ type: 'input_file', file_id: 'file-1' }]))],
    ['input[0].content[1].file_data', items(user([{ type: 'input_text', text: 'a' }, { type: 'input_file' }]))],
    ['input[0].content[0].image_url', items(user([{ type: 'input_image' }]))],
    ['input[0].call_id', items({ type: 'function_call', name: 'f', arguments: '{}' })],
    ['input[0].output', items({ type: 'function_call_output', call_id: '1' })],
    [
      'input[0].output[0].image_url',
      items({ type: 'function_call_output', call_id: '1', output: [{ type: 'input_image', image_url: {} }] }),
    ],
    ...(['type', 'syntax', 'definition'] as const).map((name): [string, object] => {
      const format = { type: 'grammar', syntax: 'regex', definition: 'a', [name]: 'x'.repeat(4_001) };
      return [`tools[0].format.${name}`, { input: 'hi', tools: [{ type: 'custom', name: 'f', format }] }];
    }),
    ['input[0].id', items({ type: 'item_reference', id: 'msg_1' })],
    ['input[0].id', items({ id: 'msg_1' })],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['temperature', { temperature: 3 }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['include', { include: ['everything'] }],
    ['reasoning.effort', { reasoning: { effort: 'huge' } }],
    ['text.format', { text: { format: { type: 'json_schema', name: 'x' } } }],
    ['text.format', { text: { format: { type: 'xml' } } }],
    ['text.format', { text: { format: { type: 'json_object', schema: 'object' } } }],
    ['tools[1].name', { tools: [{ type: 'local_shell' }, { type: 'function', name: 'not a name' }] }],
    ['tools[1].function.name', { tools: [{ type: 'local_shell' }, { type: 'function', function: { name: 'a b' } }] }],
    ['tools[0].type', { tools: [{ type: 'code_interpreter' }] }],
    ['tools', { tools: Array.from({ length: 129 }, (_, index) => ({ type: 'function', name: `f${index}` })) }],
    ['tool_choice', { tool_choice: { type: 'web_search' } }],
    ['metadata', { metadata: { a: 4 } }],
    ['truncation', { truncation: 'middle' }],
    ['background', { background: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['prompt', { prompt: { id: 'pmpt_1' }, input: undefined }],
    ['context_management', { context_management: [{ type: 'compaction' }] }],
    ['stream_options.include_obfuscation', { stream_options: { include_obfuscation: 'yes' } }],
  ])('names %s', (param, body) => {
    expect(refusalOf(body)).toBe(param);
  });

  it('has the name of the Responses field in message and issues', () => {
    const request = { model: 'm', input: 'hi', tools: [{ type: 'x' }, { type: 'function', name: 'not a name' }] };
    expect(findIssues(ResponsesRequest, request)).toEqual([]);
    const error = (() => {
      try {
        return translate(request);
      } catch (thrown) {
        return thrown as PlatformError;
      }
    })() as PlatformError;
    expect(error.message).toMatch(/^tools\[1\]\.name must be/);
    expect(error.issues?.[0]?.path).toEqual(['tools', 1, 'name']);
  });
});

describe('a request that continues a stored response', () => {
  const history = [
    { type: 'message' as const, role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Weather?' }] },
    { type: 'reasoning' as const, content: [{ type: 'reasoning_text', text: 'Let me see.' }] },
    { type: 'function_call' as const, call_id: 'call_1', name: 'now', arguments: '{}' },
  ];
  const continued = (body: object) => {
    const request = validateBody(ResponsesRequest, { model: 'm', previous_response_id: 'resp_1', ...body });
    return translateResponses(request, () => null, history);
  };

  it('has its items between the instructions and the input', () => {
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'noon' };
    const { messages } = continued({ input: [output], instructions: 'Be brief.' }).chat;
    expect(messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', reasoning_content: 'Let me see.', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
    ]);
  });

  it('may have an empty input', () => {
    expect(continued({ input: [] }).chat.messages).toHaveLength(2);
    expect(continued({ input: '' }).chat.messages).toHaveLength(2);
  });

  it('names the field that leads to the items, and its own input', () => {
    const { names } = continued({ input: 'hi', instructions: 'Be brief.' });
    expect(names.nameOf('messages[0].content')).toBe('instructions');
    expect(names.nameOf('messages[1].content[0].image_url.url')).toBe('previous_response_id');
    expect(names.nameOf('messages[3]')).toBe('input');
  });
});
