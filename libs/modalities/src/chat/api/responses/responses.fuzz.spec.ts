import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorEntry, PlatformError } from '#common';
import { AccountCipher } from '#gateway';
import { noCapabilities } from '#model-registry/manifest';
import { validateBody } from '#platform/validation';
import { ChatJobPayload } from '../../contract/chat.job.js';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import { normalizeChat } from '../job/chat.normalizer.js';
import { translateResponses } from './responses.normalizer.js';

/* Requests of agents with one part that is wrong in some way: accepted, or refused by a field that the client sent. */

const capabilities = { ...noCapabilities, supportsResponseSchema: true, supportsLogProbs: true };
const model = {
  id: 'tiny',
  capabilities,
  maxChoices: 4,
  maxCompletionTokens: 128,
  contextLength: 4096,
  systemPrompt: null,
  constraints: null,
  inputAdapters: {},
  suffix: {},
};
const cipher = new AccountCipher('5c'.repeat(32), 'reasoning items');
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const responsesBody = {
  model: 'tiny',
  instructions: 'Be brief.',
  input: [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'hi' },
        { type: 'input_file', file_data: 'data:text/plain,a' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: cipher.seal('a', 'so') },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
    {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [
        { type: 'input_text', text: 'sunny' },
        { type: 'input_file', file_data: 'data:text/plain,b' },
      ],
    },
    { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: '+a' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
    { type: 'function_call', call_id: 'call_3', name: 'list', namespace: 'agents', arguments: '{}' },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Sunny.', annotations: [] }],
    },
    { role: 'user', content: 'and now?' },
  ],
  tools: [
    { type: 'function', name: 'get_weather', description: 'Of a city.', parameters: schema, strict: true },
    { type: 'function', function: { name: 'now', parameters: {} } },
    { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'list', parameters: {} }, { type: 'odd' }] },
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } },
    { type: 'web_search', external_web_access: false },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'get_weather' }] },
  parallel_tool_calls: false,
  text: { format: { type: 'json_schema', name: 'pet', schema, strict: true }, verbosity: 'low' },
  reasoning: { summary: 'auto' },
  include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
  top_logprobs: 2,
  metadata: { a: 'b' },
  max_output_tokens: 16,
  store: false,
  previous_response_id: null,
};

const chatBody = {
  model: 'tiny',
  messages: [
    { role: 'system', content: 'rules' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
    { role: 'assistant', content: null, function_call: { name: 'now', arguments: '{}' } },
    { role: 'function', name: 'now', content: 'one' },
    { role: 'user', content: 'and now?' },
  ],
  tools: [{ type: 'function', function: { name: 'now', description: 'Time.', parameters: schema, strict: true } }],
  tool_choice: { type: 'function', function: { name: 'now' } },
  parallel_tool_calls: false,
  response_format: { type: 'json_schema', json_schema: { name: 'pet', schema } },
};

type Container = Record<string | number, unknown>;

/** Every place in a JSON value, as its container and key. */
function placesOf(value: unknown): [Container, string | number][] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const container = value as Container;
  return keys.flatMap((key): [Container, string | number][] => [[container, key], ...placesOf(container[key])]);
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { type: value };
  return value;
}

const oddValues: unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e300,
  true,
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: null },
  { type: 'none' },
  { id: 'x' },
  'two words',
  'x'.repeat(70),
  'x'.repeat(3_000),
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  'data:image/png;base64,@@@@',
  'call_1',
  'call_9',
  '{"a":',
  nested(4),
  nested(500),
];

interface Change {
  place: number;
  kind: 'replace' | 'remove' | 'repeat';
  value: unknown;
}

/** A copy of the body with some places changed. */
function changed(body: object, changes: readonly Change[]): Record<string, unknown> {
  const copy = structuredClone(body) as Record<string, unknown>;
  for (const { place, kind, value } of changes) {
    const places = placesOf(copy);
    const [container, key] = places[place % places.length] ?? [copy, 'model'];
    if (kind === 'remove') {
      if (Array.isArray(container)) container.splice(Number(key), 1);
      else Reflect.deleteProperty(container, key);
    } else if (kind === 'repeat' && Array.isArray(container)) container.push(structuredClone(container[Number(key)]));
    else container[key] = value;
  }
  return copy;
}

const change = fc.record({
  place: fc.nat(2_000),
  kind: fc.constantFrom<Change['kind']>('replace', 'replace', 'replace', 'remove', 'repeat'),
  value: fc.constantFrom(...oddValues),
});

/** Fails unless the work is done, or refused by a 400 on one of these fields. */
function expectServed(work: () => ChatJobPayload, fields: ReadonlySet<string>): 'accepted' | 'refused' {
  try {
    expect(validateSync(plainToInstance(ChatJobPayload, work()))).toEqual([]);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    expect(errorEntry(error.code).status).toBe(400);
    const [field = ''] = (error.param ?? '').split(/[.[]/);
    expect([error.message, field, fields.has(field)]).toEqual([error.message, field, true]);
    return 'refused';
  }
}

function runs(body: object, work: (body: object) => ChatJobPayload, more: string[] = []): Record<string, number> {
  const fields = new Set([...Object.keys(body), ...more]);
  const counts: Record<string, number> = { accepted: 0, refused: 0 };
  // Without a change it is right.
  expect(() => work(structuredClone(body))).not.toThrow();
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
      const served = expectServed(() => work(changed(body, changes)), fields);
      counts[served] = (counts[served] ?? 0) + 1;
    }),
    { numRuns: 1_500, seed: 14 },
  );
  return counts;
}

describe('an agent’s request with something wrong in it', () => {
  it('of the Responses format', () => {
    const counts = runs(responsesBody, (body) => {
      const request = validateBody(ResponsesRequest, body);
      const { chat, names } = translateResponses(request, (content) => cipher.open('a', content));
      try {
        return normalizeChat(chat, model).payload;
      } catch (error) {
        throw names.rename(error);
      }
    });
    expect(counts.accepted).toBeGreaterThan(150);
    expect(counts.refused).toBeGreaterThan(150);
  });

  it('of chat completions', () => {
    const counts = runs(chatBody, (body) => normalizeChat(validateBody(ChatCompletionRequest, body), model).payload);
    expect(counts.accepted).toBeGreaterThan(150);
    expect(counts.refused).toBeGreaterThan(150);
  });
});
