import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';

/* Structured output by the official client, on the product's engine with a tiny model of random weights. */

const model = 'tiny-llama';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'the river' }];
const ajv = new Ajv2020({ strict: false });

/** As zodResponseFormat and its likes write it. */
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 8 },
    kind: { type: 'string', enum: ['cat', 'dog'] },
    age: { anyOf: [{ type: 'integer', minimum: 0, maximum: 30 }, { type: 'null' }] },
    tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]{1,4}$' }, maxItems: 2 },
  },
  required: ['name', 'kind', 'age', 'tags'],
  additionalProperties: false,
};
const isValid = ajv.compile(schema);
const cycle = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  platform = await startPlatform({ engine: 'text' });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  await platform.stop();
});

function formatOf(of: Record<string, unknown>): OpenAI.ResponseFormatJSONSchema {
  return { type: 'json_schema', json_schema: { name: 'pet', strict: true, schema: of } };
}

function expectValid(content: string | null | undefined): void {
  expect([content, isValid(JSON.parse(content ?? ''))]).toEqual([content, true]);
}

describe('structured output', () => {
  it('refuses more than a million characters of schema without a job', async () => {
    const before = await platform.closedJobs();
    const huge = { enum: Array.from({ length: 20_000 }, (_, index) => `${'x'.repeat(50)}${index}`) };
    const refused = client.chat.completions.create({ model, messages, response_format: formatOf(huge) });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      param: 'response_format.json_schema.schema',
      message: expect.stringContaining('1000000 characters') as string,
    });
    expect(await platform.closedJobs()).toHaveLength(before.length);
  });

  it('takes the schema of a json_object in /responses, and refuses a wrong one by its field', async () => {
    const text = (of: object) => ({ format: { type: 'json_object', schema: of } }) as never;
    const small = {
      type: 'object',
      properties: { kind: { enum: ['cat', 'dog'] } },
      required: ['kind'],
      additionalProperties: false,
    };
    const { output_text: output } = await client.responses.create({ model, input: 'the river', text: text(small) });
    expect([{ kind: 'cat' }, { kind: 'dog' }]).toContainEqual(JSON.parse(output));
    const refused = client.responses.create({ model, input: 'the river', text: text({ type: 'thing' }) });
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'text.format.schema' });
  });

  it('is announced by GET /models', async () => {
    const { data } = await client.models.list();
    const found = data.find(({ id }) => id === model) as unknown as {
      model_spec: { capabilities: { supportsResponseSchema: boolean } };
    };
    expect(found.model_spec.capabilities.supportsResponseSchema).toBe(true);
  });

  it('is valid in every choice, whatever is drawn, and the same for the same seed', async () => {
    const ask = (seed: number) =>
      client.chat.completions.create({
        model,
        messages,
        response_format: formatOf(schema),
        n: 2,
        seed,
        temperature: 1.5,
      });
    const [first, again, other] = await Promise.all([ask(1), ask(1), ask(7)]);
    for (const { choices } of [first, again, other]) {
      expect(choices).toHaveLength(2);
      for (const { message, finish_reason: reason } of choices) {
        expect(reason).toBe('stop');
        expectValid(message.content);
      }
    }
    const textsOf = (answer: OpenAI.ChatCompletion) => answer.choices.map(({ message }) => message.content);
    expect(textsOf(again)).toEqual(textsOf(first));
    expect(textsOf(other)).not.toEqual(textsOf(first));
  });

  it('streams the same text, greedy and with penalties', async () => {
    const options = { model, messages, response_format: formatOf(schema), temperature: 0, frequency_penalty: 1 };
    const whole = await client.chat.completions.create(options);
    const stream = client.chat.completions.stream({ ...options, stream: true });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    expectValid(final.choices[0]?.message.content);
  });

  it('is parsed by the client', async () => {
    const { choices } = await client.chat.completions.parse({
      model,
      messages,
      response_format: { ...formatOf(schema), __output: undefined } as never,
    });
    expectValid(choices[0]?.message.content);
  });

  it('ends at the token limit as any text does', async () => {
    const { choices } = await client.chat.completions.create({
      model,
      messages,
      response_format: formatOf({ type: 'array', items: { type: 'integer' }, minItems: 50 }),
      max_completion_tokens: 12,
    });
    expect(choices[0]?.finish_reason).toBe('length');
    expect(choices[0]?.message.content).toMatch(/^\s*\[/);
  });

  it('tells log-probabilities of the tokens that the schema allows', async () => {
    const { choices } = await client.chat.completions.create({
      model,
      messages,
      response_format: formatOf({ type: 'string', enum: ['cat'] }),
      logprobs: true,
      top_logprobs: 3,
    });
    expect(choices[0]?.message.content?.trim()).toBe('"cat"');
    const tokens = choices[0]?.logprobs?.content ?? [];
    expect(tokens.length).toBeGreaterThan(0);
    for (const { logprob, top_logprobs: top } of tokens) {
      expect(logprob).toBeLessThanOrEqual(1e-6);
      expect(top.reduce((sum, { logprob: other }) => sum + Math.exp(other), 0)).toBeLessThanOrEqual(1 + 1e-5);
    }
    expect(Math.exp(tokens.at(-1)?.logprob ?? 0)).toBeCloseTo(1, 5);
  });

  it('takes json_object, response_schema and a stop string', async () => {
    const object = await client.chat.completions.create({
      model,
      messages,
      response_format: { type: 'json_object' },
      max_completion_tokens: 100,
      seed: 3,
    });
    expect(object.choices[0]?.message.content).toMatch(/^\s*\{/);
    if (object.choices[0]?.finish_reason === 'stop') JSON.parse(object.choices[0].message.content ?? '');
    const alias = { model, messages, response_schema: { enum: ['left', 'right'] } } as never;
    const named = await client.chat.completions.create(alias as OpenAI.ChatCompletionCreateParamsNonStreaming);
    expect(['left', 'right']).toContain(JSON.parse(named.choices[0]?.message.content ?? ''));
    const stopped = await client.chat.completions.create({
      model,
      messages,
      response_format: formatOf({ type: 'string', enum: ['a;b'] }),
      stop: [';'],
    });
    expect(stopped.choices[0]?.message.content?.trim()).toBe('"a');
  });

  it('refuses a keyword that is not covered by its place, before the job is queued', async () => {
    const before = await platform.closedJobs();
    const wrong = { type: 'object', properties: { a: { unevaluatedItems: {} } } };
    for (const stream of [false, true]) {
      const refused = client.chat.completions.create({ model, messages, response_format: formatOf(wrong), stream });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        param: 'response_format.json_schema.schema',
        message: expect.stringContaining('#/properties/a/unevaluatedItems') as string,
      });
    }
    expect(await platform.closedJobs()).toEqual(before);
  });

  it.each([
    ['a $ref to itself', { $ref: '#' }, '$ref leads back to itself'],
    ['a cycle of $refs', cycle, '$ref leads back to itself'],
    ['a schema without values', { enum: [] }, 'no value satisfies the schema'],
    ['a pattern that is none', { type: 'string', pattern: '(' }, '#/pattern'],
  ])('refuses %s by its place, and charges nothing', async (_name, wrong, message) => {
    const balance = () => platform.query('SELECT usd_nano, usd_held_nano FROM balances');
    const before = await platform.closedJobs();
    const balanceBefore = await balance();
    for (const stream of [false, true]) {
      const refused = client.chat.completions.create({ model, messages, response_format: formatOf(wrong), stream });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        code: 'INVALID_REQUEST',
        param: 'response_format.json_schema.schema',
        message: expect.stringContaining(message) as string,
      });
    }
    const known = new Set(before.map(({ request_id: id }) => id));
    const closed = (await platform.closedJobs()).filter(({ request_id: id }) => !known.has(id));
    expect(closed.map(({ state, completion_tokens: tokens }) => [state, Number(tokens)])).toEqual([
      ['failed', 0],
      ['failed', 0],
    ]);
    expect(await balance()).toEqual(balanceBefore);
  });
});
