import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { nanosPerUsd } from '#common';
import { PrismaService } from '#platform/prisma';
import { fundedAccount } from '#test/funded-account';
import { type Platform, startPlatform } from '#test/platform';

/* Schemas that are made to exhaust a server: each is refused by name or served, and nobody else notices. */

const chat = { model: 'tiny-llama', messages: [{ role: 'user', content: 'the river' }], max_completion_tokens: 8 };
const ofFormat = 'response_format.json_schema.schema';
const ofTool = 'tools[0].function.parameters';

let platform: Platform;
let prisma: PrismaService;
/** The key of each test's own account: refused schemas may take an account only so much time in a minute. */
let key: string;
beforeAll(async () => {
  platform = await startPlatform({ engine: 'text', models: [{ contextLength: 2048 }] });
  prisma = new PrismaService({ url: platform.databaseUrl, poolSize: 1 });
});
beforeEach(async () => {
  ({ key } = await fundedAccount(prisma, 1_000n * nanosPerUsd));
});
afterAll(async () => {
  await prisma?.$disconnect();
  await platform?.stop();
});

interface Reply {
  status: number;
  code?: string;
  param?: string | null;
}

async function post(body: object): Promise<Reply> {
  return await postTo('chat/completions', { ...chat, ...body });
}

async function postTo(route: string, body: object): Promise<Reply> {
  const response = await fetch(`${platform.baseUrl}/${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { error } = (await response.json()) as { error?: { code: string; param: string | null } };
  return { status: response.status, ...(error && { code: error.code, param: error.param }) };
}

const format = (schema: unknown) => ({
  response_format: { type: 'json_schema', json_schema: { name: 's', strict: true, schema } },
});
const tool = (name: string, parameters: unknown) => ({
  type: 'function',
  function: { name, parameters, strict: true },
});
const balances = () => platform.query('SELECT usd_nano, usd_held_nano, diem_nano, diem_held_nano FROM balances');

/** A tree of references with 2^30 leaves. */
const doubling = (keyword: 'allOf' | 'anyOf') => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => {
      const next = { $ref: `#/$defs/d${index + 1}` };
      return [`d${index}`, { [keyword]: [next, next, { type: 'object', properties: { [`p${index}`]: next } }] }];
    }).concat([['d30', { type: 'string' } as never]]),
  ),
});
const isTooLong = (schema: unknown) => JSON.stringify(schema).length > 1_000_000;
const nested = (depth: number): object =>
  JSON.parse(`${'{"items":'.repeat(depth)}{"type":"null"}${'}'.repeat(depth)}`) as object;
const words = (count: number) => Array.from({ length: count }, (_, index) => `value number ${index}`);
const properties = (count: number, schema: object) => Object.fromEntries(words(count).map((name) => [name, schema]));

const refused: [string, unknown][] = [
  ['a $ref to itself', { $ref: '#' }],
  ['a $ref that goes around', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
  ['an allOf that contains itself', { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }],
  ['a required property that needs itself', { properties: { a: { $ref: '#' } }, required: ['a'], type: 'object' }],
  ['more than 1 MB', { description: 'x'.repeat(1_000_001) }],
  ['a pattern of 100,000 characters', { type: 'string', pattern: 'a?'.repeat(50_000) }],
  ['a pattern without an end', { type: 'string', pattern: '(' }],
  ['no value', { type: 'object', properties: { a: false }, required: ['a'] }],
];

/** Served or refused, as the limits have it. */
const bombs: [string, unknown][] = [
  ['references that double 30 times in allOf', doubling('allOf')],
  ['references that double 30 times in anyOf', doubling('anyOf')],
  ['2,000 levels', nested(2_000)],
  ['nested repetitions', { type: 'string', pattern: '^((a{1,999}b?){1,999}c?){1,999}$' }],
  ['50 patterns at once', { allOf: words(50).map((_, at) => ({ type: 'string', pattern: `a.{${at}}b.{${at}}c` })) }],
  ['a string of a billion characters', { type: 'string', minLength: 1e9, maxLength: 2e9 }],
  ['a list of a million items', { type: 'array', items: { type: 'integer' }, minItems: 1e6 }],
  ['20,000 values', { enum: words(20_000) }],
  ['5,000 optional properties', { type: 'object', properties: properties(5_000, { type: 'string', maxLength: 9 }) }],
  ['1 MB of description', { type: 'boolean', description: 'x'.repeat(990_000) }],
  ['a free object of patterns', { patternProperties: properties(5, { patternProperties: properties(5, {}) }) }],
];

describe('a schema', () => {
  it.each(refused)('with %s is refused by its field, and charges nothing', async (_name, schema) => {
    const before = await balances();
    expect(await post(format(schema))).toEqual({ status: 400, code: 'INVALID_REQUEST', param: ofFormat });
    const byTool = await post({ tools: [tool('t', schema)], tool_choice: 'required' });
    // What is too long in all is refused by the list.
    const param = isTooLong(schema) ? 'tools' : ofTool;
    expect(byTool).toEqual({ status: 400, code: 'INVALID_REQUEST', param });
    const asked = { model: chat.model, input: 'the river', max_output_tokens: 8 };
    const text = { format: { type: 'json_schema', name: 's', strict: true, schema } };
    const byText = await postTo('responses', { ...asked, text });
    expect(byText).toEqual({ status: 400, code: 'INVALID_REQUEST', param: 'text.format.schema' });
    const tools = [
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 't', parameters: schema, strict: true }] },
    ];
    const byMember = await postTo('responses', { ...asked, tools, tool_choice: 'required' });
    const member = isTooLong(schema) ? 'tools' : 'tools[0].tools[0].parameters';
    expect(byMember).toEqual({ status: 400, code: 'INVALID_REQUEST', param: member });
    await platform.closedJobs();
    expect(await balances()).toEqual(before);
  });

  it.each(bombs)('with %s delays only its own request', async (_name, schema) => {
    const [bomb, ...others] = await Promise.all([post(format(schema)), ...words(4).map(() => post({}))]);
    // A short text never completes some of them.
    if (bomb.status !== 200) {
      // The place within it where the request is nested too deeply.
      const param: unknown = expect.stringMatching(/^response_format\.json_schema\.schema(\.items)*$/);
      expect(bomb).toEqual({ status: 400, code: 'INVALID_REQUEST', param });
    }
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe('tools', () => {
  it('of which there are more than 128 are refused by their field', async () => {
    const tools = words(129).map((_, index) => tool(`t${index}`, { type: 'object' }));
    expect(await post({ tools })).toEqual({ status: 400, code: 'INVALID_REQUEST', param: 'tools' });
  });

  it('that are 128 with heavy schemas are served or refused by one of their fields', async () => {
    const heavy = (index: number) => ({
      type: 'object',
      properties: properties(20, { type: 'string', pattern: `^[a-z]{2,${index + 9}}$`, maxLength: 2_000 }),
    });
    const tools = words(128).map((_, index) => tool(`t${index}`, heavy(index)));
    const [many, ...others] = await Promise.all([
      post({ tools, tool_choice: 'required' }),
      ...words(4).map(() => post({})),
    ]);
    if (many.status !== 200) {
      expect([many.status, many.param]).toEqual([400, expect.stringMatching(/^(tools|messages)/)]);
    }
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('left no job open and no process lost', async () => {
    expect((await platform.closedJobs()).every(({ state }) => state === 'succeeded' || state === 'failed')).toBe(true);
    expect(await platform.query("SELECT 1 FROM holds WHERE state = 'open'")).toEqual([]);
    expect((await post({})).status).toBe(200);
  });
});
