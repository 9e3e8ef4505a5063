import { describe, expect, it } from 'vitest';
import { annotatedSchemas, assertedSchemas } from '#test/foreign-schemas';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ChatJobPayload } from '../../contract/chat.job.js';
import { FinishedTextCheck } from '../chat/finished-text-check.js';
import { checkSchemas, mayBeRefused } from './schema-checks.js';

const param = 'tools[1].function.parameters';

function payloadOf(
  property: object,
  { isStrict = false, ...more }: { isStrict?: boolean } & Partial<ChatJobPayload> = {},
) {
  const good = { name: 'good', parameters: { type: 'object' }, strict: true, param: 'tools[0].function.parameters' };
  const parameters = { type: 'object', properties: { a: property } };
  return { tools: [good, { name: 'f', parameters, strict: isStrict, param }], ...more } as ChatJobPayload;
}

describe('checkSchemas', () => {
  it.each(Object.entries({ ...annotatedSchemas, ...assertedSchemas }))('lets pass without strict: %s', (_, schema) => {
    for (const warning of checkSchemas(payloadOf(schema))) {
      expect(warning).toMatchObject({ code: expect.stringMatching(/^schema_/) as string, param });
    }
  });

  it('names annotations and keywords that are left out', () => {
    const schema = { type: 'string', format: 'int32', markdownDescription: 'x', unevaluatedItems: false };
    expect(checkSchemas(payloadOf(schema))).toEqual([
      {
        code: 'schema_keywords_ignored',
        param,
        message:
          'Unknown keywords and formats are annotations, which no text follows: #/properties/a/markdownDescription, #/properties/a/format.',
      },
      { code: 'schema_relaxed', param, message: expect.stringContaining('#/properties/a/unevaluatedItems') as string },
    ]);
  });

  it.each([
    [{ unevaluatedProperties: false }, '#/properties/a/unevaluatedProperties: this keyword is not supported'],
    [{ items: [{ $dynamicRef: '#a' }] }, '#/properties/a/items/0/$dynamicRef: this keyword is not supported'],
    [{ $ref: 'https://example.com/a' }, '#/properties/a/$ref: only references within the schema are followed'],
  ])('refuses in a strict schema, before the job is queued: %j', (schema, reason) => {
    const message = `The schema is not supported at ${reason}.`;
    expect(() => checkSchemas(payloadOf(schema, { isStrict: true }))).toThrow(message);
    expect(() => checkSchemas(payloadOf(schema))).not.toThrow();
  });

  it.each([
    [{ type: 'file' }, '#/properties/a/type: must name types of JSON'],
    [{ minLength: -1 }, '#/properties/a/minLength: must be a whole number'],
    [{ properties: { b: 3 } }, '#/properties/a/properties/b: must be a schema'],
    [{ $ref: '#/$defs/missing' }, '#/properties/a/$ref: #/$defs/missing names nothing in the schema'],
  ])('refuses what is malformed, strict or not: %j', (schema, reason) => {
    for (const isStrict of [true, false]) {
      expect(() => checkSchemas(payloadOf(schema, { isStrict }))).toThrow(`The schema is not supported at ${reason}`);
    }
  });

  it('looks only at tools that may be called', () => {
    const bad = { unevaluatedItems: false };
    const isStrict = true;
    expect(() => checkSchemas(payloadOf(bad, { isStrict, toolChoice: 'none' }))).not.toThrow();
    expect(() => checkSchemas(payloadOf(bad, { isStrict, toolChoice: { name: 'good' } }))).not.toThrow();
    expect(() => checkSchemas(payloadOf(bad, { isStrict, allowedTools: ['good'] }))).not.toThrow();
    expect(() => checkSchemas(payloadOf(bad, { isStrict, toolChoice: 'required' }))).toThrow('unevaluatedItems');
  });

  it('takes no longer for references that lead to one schema in many ways', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => {
        const next = { $ref: `#/$defs/a${(index + 1) % 2_000}` };
        return [`a${index}`, { anyOf: [{ ...next }, { ...next }] }];
      }),
    );
    const format = { type: 'json-schema' as const, schema: { $defs, $ref: '#/$defs/a0' }, param: 'p' };
    expect(checkSchemas({ format } as unknown as ChatJobPayload)).toEqual([]);
  });
});

describe('mayBeRefused', () => {
  const format = { schema: {}, param: 'p' };

  it.each([
    [{ format: { ...format, type: 'json-schema' as const } }, true],
    [{ format: { ...format, type: 'regex' as const } }, true],
    [{ format: { param: 'p', type: 'json-object' as const } }, false],
    [payloadOf({}, { isStrict: true }), true],
    [payloadOf({}, { isStrict: true, toolChoice: 'none' }), false],
    [{ tools: [] }, false],
  ])('tells whether a worker may refuse the schemas of a job: %j', (payload, expected) => {
    expect(mayBeRefused(payload as ChatJobPayload)).toBe(expected);
  });
});

describe('FinishedTextCheck', () => {
  const text = (value: string): ChatEvent => ({
    type: 'text-delta',
    index: 0,
    channel: 'content',
    text: value,
    tokens: 1,
    logprobs: null,
  });
  const format = { type: 'json-schema' as const, schema: { uniqueItems: true }, param: 'response_format' };

  function warningsAfter(payload: Partial<ChatJobPayload>, ...events: ChatEvent[]) {
    const check = new FinishedTextCheck(payload as ChatJobPayload);
    for (const event of events) check.add(event);
    return check.warnings;
  }

  it('names the keyword that a finished document does not keep', () => {
    const finished: ChatEvent = { type: 'choice-finished', index: 0, finishReason: 'stop' };
    expect(warningsAfter({ format }, text('[1'), text(',1]'), finished)).toEqual([
      {
        code: 'schema_violated',
        param: 'response_format',
        message: 'The text does not keep the schema at #/uniqueItems: two items are equal.',
      },
    ]);
    expect(warningsAfter({ format }, text('[1,2]'), finished)).toEqual([]);
    expect(warningsAfter({ format: { ...format, strict: true } }, text('[1,1]'), finished)).toEqual([]);
    expect(warningsAfter({ format }, text('[1,1]'), { ...finished, finishReason: 'length' })).toEqual([]);
  });

  it('names what the compiler left out, by the field of the request', () => {
    const relaxed = [
      { param, pointer: '/properties/a/pattern', reason: 'the pattern has a back reference' },
      { param, pointer: '#', reason: 'is too large' },
      { param: 'response_format', pointer: '/oneOf', reason: 'may overlap' },
    ];
    const ready: ChatEvent = { type: 'prompt-ready', promptTokens: 1, cachedTokens: 0, relaxed };
    const unchecked = expect.stringMatching(/pattern.* not checked on the finished value/) as string;
    const places = '#/properties/a/pattern (the pattern has a back reference), # (is too large)';
    expect(warningsAfter(payloadOf({}), ready, ready)).toEqual([
      { code: 'schema_relaxed', param, message: expect.stringContaining(places) as string },
      { code: 'schema_relaxed', param: 'response_format', message: unchecked },
    ]);
  });

  it('names it for the arguments of a call', () => {
    const events: ChatEvent[] = [
      { type: 'tool-call', index: 0, call: 0, id: 'c', name: 'f' },
      { type: 'tool-call-delta', index: 0, call: 0, text: '{"a":"x"}', tokens: 1, logprobs: null },
      { type: 'choice-finished', index: 0, finishReason: 'tool_calls' },
    ];
    const warnings = warningsAfter(payloadOf({ not: { const: 'x' } }), ...events);
    expect(warnings).toMatchObject([
      { code: 'schema_violated', param, message: expect.stringContaining('#/properties/a/not') as string },
    ]);
  });
});
