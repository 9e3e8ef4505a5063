import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { noCapabilities } from '#model-registry/manifest';
import { validateBody } from '#platform/validation';
import { MessagesRequest } from '../../contract/messages/messages.request.js';
import type { ChatModel } from '../job/chat.model.js';
import { normalizeChat } from '../job/chat.normalizer.js';
import { refuseUnknown, translateMessages } from './messages.normalizer.js';

const model: ChatModel = {
  id: 'm',
  capabilities: { ...noCapabilities, supportsResponseSchema: true, supportsVision: true, supportsReasoning: true },
  family: 'vision-language',
  maxChoices: 1,
  maxCompletionTokens: 100,
  contextLength: 100_000,
  inputAdapters: {},
  systemPrompt: null,
  constraints: null,
  suffix: {},
  reducesToModel: true,
};

const mark = { type: 'ephemeral', ttl: '5m' };
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

/** A body with every kind of block. */
const whole = {
  model: 'm',
  max_tokens: 64,
  system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hello' }, image] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'So.', signature: 's' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'x' }, image], is_error: true },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' }, title: 't' },
      ],
    },
  ],
  tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' }, cache_control: mark }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 8 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
  stop_sequences: ['END'],
  metadata: { user_id: 'u' },
};

type Path = (string | number)[];

/** Every place of a value. */
function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, member]) =>
    placesOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return [path, ...inner];
}

/** A copy with another value in one place; undefined removes it. */
function replaced(value: unknown, [key, ...rest]: Path, other: unknown): unknown {
  if (key === undefined) return other;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
    Path[0],
    unknown
  >;
  copy[key] = replaced(copy[key], rest, other);
  return copy;
}

/** Reads a body as the route does. */
function normalize(body: unknown): void {
  const request = validateBody(MessagesRequest, body);
  refuseUnknown(MessagesRequest, request);
  const { chat, names, thinkingBudget } = translateMessages(request, () => null);
  try {
    normalizeChat(chat, { ...model, thinkingBudget });
  } catch (error) {
    throw names.rename(error);
  }
}

/** Names of the fields of a body, without what is below those that are free. */
const fieldNames = new Set(placesOf(whole).flatMap((path) => path.filter((part) => typeof part === 'string')));

describe('a Messages request', () => {
  it('with every kind of block is read', () => {
    expect(() => normalize(whole)).not.toThrow();
  });

  it('with any value in any place is read, or refused with a 400 that names a field of the client', () => {
    const anything = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>('', 'user', 'assistant', 'system', 'text', [], {}, [{}], [null], -1, 1e9, true),
    );
    fc.assert(
      fc.property(fc.constantFrom(...placesOf(whole)), anything, (path, value) => {
        try {
          normalize(replaced(whole, path, value));
        } catch (error) {
          if (!(error instanceof PlatformError)) throw error;
          expect(['INVALID_REQUEST', 'TOO_MANY_TOKENS']).toContain(error.code);
          const first = error.param?.split(/[.[]/, 1)[0] ?? '';
          // A body that is no object has no field.
          if (path.length > 0) expect(fieldNames).toContain(first);
        }
      }),
      { numRuns: 1_500 },
    );
  });
});
