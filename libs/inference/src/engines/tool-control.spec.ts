import { describe, expect, it } from 'vitest';
import type { ChatTemplateMessage, TextGenerationRequest } from '../contract/text-generation.js';
import { buildPrompt, ChatTemplate } from '../text/index.js';
import { ToolControl } from './tool-control.js';

const special = { bos: '<s>', eos: '</s>', unk: null, pad: null };
const tool = {
  name: 'get_weather',
  description: 'Of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  param: 'tools[0].function.parameters',
};
const conversation: ChatTemplateMessage[] = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Rome?' },
  {
    role: 'assistant',
    content: 'Wait.',
    toolCalls: [
      { id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
      { id: 'call_2', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    ],
  },
  { role: 'tool', content: 'sunny', toolCallId: 'call_1' },
  { role: 'tool', content: 'rain', toolCallId: 'call_2' },
];

function requestOf(messages = conversation, changes: Partial<TextGenerationRequest> = {}): TextGenerationRequest {
  return {
    id: 'r1',
    prompt: { messages },
    n: 1,
    sampling: {},
    stop: [],
    stopTokenIds: [],
    topLogprobs: null,
    tools: { tools: [tool], isRequired: false, isParallel: true },
    ...changes,
  };
}

/** The text of the prompt that a template makes of the conversation. */
function promptOf(source: string | null, request = requestOf(), declared?: string): string {
  const template = source === null ? null : new ChatTemplate(source, special);
  return buildPrompt(new ToolControl(template, declared).apply(request).prompt, template).text;
}

const turns =
  '{% for message in messages %}[{{ message.role }}]{{ message.content }}{% if message.tool_calls %}' +
  '{% for call in message.tool_calls %}CALL{% endfor %}{% endif %}{% endfor %}';

describe('the tools of a prompt', () => {
  it('are those of a template that knows them, with arguments as objects', () => {
    const source =
      '{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}' +
      turns.replace(
        'CALL',
        '<tool_call>{{ call.id }} {{ call.function.name }}' +
          '{% for key, value in call.function.arguments | items %} {{ key }}={{ value }}{% endfor %}</tool_call>',
      ) +
      "{% if messages[-1].role == 'tool' %}{{ messages[-1].name }} {{ messages[-1].tool_call_id }}{% endif %}";
    const text = promptOf(source);
    expect(text).toContain('"function": {"name": "get_weather", "description": "Of a city.", "parameters": {"type"');
    expect(text).toContain('[assistant]Wait.<tool_call>call_1 get_weather city=Rome</tool_call>');
    expect(text).toContain('[tool]sunny[tool]rainget_weather call_2');
    const without = promptOf(source, requestOf(conversation, { tools: undefined }));
    expect(without.startsWith('[system]Be kind.')).toBe(true);
    expect(without).toContain('city=Oslo');
  });

  it('have ids and arguments as the template takes them', () => {
    const mistral = `{{ tools }}${turns.replace('CALL', '[TOOL_CALLS]{{ call.id }}')}{{ messages[-1].tool_call_id }}`;
    const ids = /\[TOOL_CALLS\]([0-9a-f]{9})\[TOOL_CALLS\]([0-9a-f]{9})\[tool\]/.exec(promptOf(mistral));
    expect(ids?.[1]).not.toBe(ids?.[2]);
    expect(promptOf(mistral).endsWith(ids?.[2] ?? '?')).toBe(true);
    const deepseek = `{{ tools }}${turns.replace('CALL', "{{ '<｜tool▁call▁begin｜>' + call['function']['arguments'] }}")}`;
    expect(promptOf(deepseek)).toContain('<｜tool▁call▁begin｜>{"city":"Rome"}');
  });

  it('are described to a template that knows none, with calls and results as text', () => {
    const text = promptOf('{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}');
    expect(text).toMatch(/^\[system\]Be kind\.\n\nYou can call functions\./);
    expect(text).toContain('{"name":"get_weather","description":"Of a city.","parameters":{"type":"object"');
    expect(text).toContain('<tool_call>\n{"name": "function_name", "arguments": {"argument": "value"}}\n</tool_call>');
    expect(text).toContain('[assistant]Wait.\n<tool_call>\n{"name": "get_weather", "arguments": {"city":"Rome"}}');
    expect(text).toContain('[user]Result of get_weather:\nsunny\nResult of get_weather:\nrain');
    expect(text).not.toContain('[tool]');
  });

  it('are described in the first message of the user where the template takes no system message', () => {
    const source =
      "{% for message in messages %}{% if message.role == 'system' %}{{ raise_exception('no system') }}{% endif %}" +
      '[{{ message.role }}]{{ message.content }}{% endfor %}';
    expect(promptOf(source, requestOf(conversation.slice(1)))).toMatch(/^\[user\]Rome\?\n\nYou can call functions\./);
  });

  it('are not mentioned to a model without a template', () => {
    expect(promptOf(null, requestOf(conversation.slice(0, 2)))).toBe('Be kind. Rome?');
  });

  it('are written in the style that the manifest names', () => {
    const source = '{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}';
    expect(promptOf(source, requestOf(), 'llama-json')).toContain('{"name": "function_name", "parameters": {');
  });
});

describe('tools of a model that sees', () => {
  const source =
    "{% for message in messages %}[{{ message.role }}]{% for part in message['content'] %}" +
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}";

  it('are described in the system message, and images stay where they stand', () => {
    const template = new ChatTemplate(source, special);
    const control = new ToolControl(template, undefined, { hasParts: true });
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Is this Rome?', imagePositions: [3] },
    ];
    const { prompt } = control.apply(requestOf(messages));
    const { text } = buildPrompt(prompt, template, null, { hasParts: true });
    expect(text).toMatch(/^\[system\]Be kind\.\n\n[^]*get_weather[^]*\[user\]Is <image>this Rome\?$/);
  });
});

describe('the form of a response with tools', () => {
  const control = new ToolControl(null);

  it('is free up to a call, or a call or a document at once', () => {
    const regionsOf = (changes: Partial<TextGenerationRequest>) => {
      const { constraint } = control.apply(requestOf(conversation, changes));
      if (constraint?.type !== 'regions') throw new Error('no regions');
      return constraint.regions;
    };
    const exits = expect.arrayContaining([expect.objectContaining({ text: '<tool_call>' })]) as unknown;
    expect(regionsOf({})[0]).toEqual({ type: 'free', exits, mayEnd: true });
    const tools = { tools: [tool], isRequired: true, isParallel: false };
    expect(regionsOf({ tools })).toMatchObject([{ type: 'bound', branches: [{ next: null }] }]);
    const constraint = { type: 'json-object', param: 'response_format' } as const;
    const either = regionsOf({ tools: { ...tools, isRequired: false }, constraint });
    expect(either).toMatchObject([{ type: 'bound', branches: [{ next: null }, { next: null }] }]);
  });

  it('stays what it is without tools', () => {
    const constraint = { type: 'json-object', param: 'response_format' } as const;
    expect(control.apply(requestOf(conversation, { tools: undefined, constraint })).constraint).toBe(constraint);
  });
});
