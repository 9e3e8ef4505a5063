import { Ajv2020 } from 'ajv/dist/2020.js';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';

/* Tool calls by the official client, on the product's engine with a tiny model of random weights. */

const model = 'tiny-llama';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'the river' }];

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1, maxLength: 8 },
    unit: { type: 'string', enum: ['c', 'f'] },
    days: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 30 }, maxItems: 2 },
  },
  required: ['city', 'unit', 'days'],
  additionalProperties: false,
};
const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather of a city.', parameters },
};
const now: OpenAI.ChatCompletionFunctionTool = { type: 'function', function: { name: 'now' } };
const tools = [weather, now];
const ajv = new Ajv2020();
const validators = { get_weather: ajv.compile(parameters), now: ajv.compile({ type: 'object', maxProperties: 0 }) };

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  platform = await startPlatform({ engine: 'text', models: [{ contextLength: 2048 }] });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  await platform.stop();
});

type Options = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

const ask = (options: Options = {}) => client.chat.completions.create({ model, messages, tools, ...options });

function callsOf({ message }: OpenAI.ChatCompletion.Choice): { id: string; name: string; text: string }[] {
  return (message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
    return { id: call.id, name: call.function.name, text: call.function.arguments };
  });
}

function expectValid(choice: OpenAI.ChatCompletion.Choice): void {
  const calls = callsOf(choice);
  expect(calls.length).toBeGreaterThan(0);
  expect([choice.finish_reason, choice.message.content]).toEqual(['tool_calls', null]);
  for (const { id, name, text } of calls) {
    expect(id).toMatch(/^call_[0-9a-f]{24}$/);
    expect([text, validators[name as keyof typeof validators](JSON.parse(text))]).toEqual([text, true]);
  }
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
}

describe('tools', () => {
  it('are announced by GET /models', async () => {
    const { data } = await client.models.list();
    const found = data.find(({ id }) => id === model) as unknown as {
      model_spec: { capabilities: { supportsFunctionCalling: boolean } };
    };
    expect(found.model_spec.capabilities.supportsFunctionCalling).toBe(true);
  });

  it('end a response behind the last call that fits, instead of inside of the next', async () => {
    const seeds = Array.from({ length: 8 }, (_, index) => index + 1);
    const answers = await Promise.all(
      seeds.map((seed) => ask({ tools: [now], tool_choice: 'required', seed, max_completion_tokens: 200 })),
    );
    const calls = answers.flatMap(({ choices }) => choices.flatMap(callsOf));
    for (const { choices } of answers) for (const choice of choices) expectValid(choice);
    // Some go on calling.
    expect(calls.length).toBeGreaterThan(seeds.length);
  });

  it('are called as the schema says in every choice, and alike for the same seed', async () => {
    const required = (seed: number) =>
      ask({ tool_choice: 'required', parallel_tool_calls: false, n: 2, seed, temperature: 1.5 });
    const [first, again, other] = await Promise.all([required(1), required(1), required(7)]);
    for (const { choices } of [first, again, other]) {
      expect(choices).toHaveLength(2);
      for (const choice of choices) expectValid(choice);
    }
    const textsOf = ({ choices }: OpenAI.ChatCompletion) =>
      choices.map((choice) => callsOf(choice).map(({ name, text }) => [name, text]));
    expect(textsOf(again)).toEqual(textsOf(first));
    expect(textsOf(other)).not.toEqual(textsOf(first));
  });

  it('are called by name, and only those that are allowed', async () => {
    for (const name of ['get_weather', 'now']) {
      const named = await ask({ tool_choice: { type: 'function', function: { name } }, temperature: 1.5 });
      expect(named.choices.map(callsOf)).toEqual([[expect.objectContaining({ name })]]);
      const allowed = await ask({
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name } }] },
        },
        parallel_tool_calls: false,
        temperature: 1.5,
      });
      for (const call of allowed.choices.flatMap(callsOf)) expect(call.name).toBe(name);
      for (const choice of allowed.choices) expectValid(choice);
    }
  });

  it('are called once without parallel calls', async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const { choices } = await ask({ tool_choice: 'required', parallel_tool_calls: false, seed, temperature: 1.5 });
      expect(choices.map((choice) => callsOf(choice).length)).toEqual([1]);
    }
  });

  it('leave a response alone that calls none', async () => {
    const options = { max_completion_tokens: 16, seed: 5 };
    for (const choice of ['auto', 'none'] as const) {
      const { choices } = await ask({ ...options, tool_choice: choice });
      expect(choices[0]?.message).not.toHaveProperty('tool_calls');
      expect(choices[0]?.message.content).not.toBe('');
      expect(choices[0]?.finish_reason).toBe('length');
    }
    const [without, none] = await Promise.all([
      client.chat.completions.create({ model, messages, ...options }),
      ask({ ...options, tool_choice: 'none' }),
    ]);
    expect(none.choices[0]?.message.content).toBe(without.choices[0]?.message.content);
  });

  it('stream the same calls: id, type and name once, then fragments of arguments', async () => {
    const options = { model, messages, tools, tool_choice: 'required', temperature: 0, frequency_penalty: 1 } as const;
    const whole = await client.chat.completions.create(options);
    const stream = await client.chat.completions.create({
      ...options,
      stream: true,
      stream_options: { include_usage: true },
    });
    const calls: { id: string; name: string; text: string; fragments: number }[] = [];
    const reasons: (string | null)[] = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      usage = chunk.usage ?? usage;
      for (const { delta, finish_reason: reason } of chunk.choices) {
        if (reason !== null) reasons.push(reason);
        for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
          if (id !== undefined) {
            expect([index, type]).toEqual([calls.length, 'function']);
            calls.push({ id, name: called?.name ?? '', text: '', fragments: 0 });
          } else expect(called?.name).toBeUndefined();
          const call = calls[index];
          if (call === undefined) throw new Error('arguments come before their call');
          call.text += called?.arguments ?? '';
          call.fragments++;
        }
      }
    }
    expect(reasons).toEqual(['tool_calls']);
    const [choice] = whole.choices;
    if (choice === undefined) throw new Error('no choice');
    expectValid(choice);
    expect(calls.map(({ name, text }) => [name, text])).toEqual(callsOf(choice).map(({ name, text }) => [name, text]));
    expect(calls[0]?.fragments).toBeGreaterThan(1);
    expect(usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
  });

  it('go around: a call, its result, and the next response', async () => {
    const first = await ask({ tool_choice: { type: 'function', function: { name: 'get_weather' } } });
    const [choice] = first.choices;
    if (choice === undefined) throw new Error('no choice');
    const results = callsOf(choice).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }));
    const again = await ask({ messages: [...messages, choice.message, ...results], max_completion_tokens: 8 });
    expect(again.usage?.prompt_tokens).toBeGreaterThan(first.usage?.prompt_tokens ?? 0);
    const refused = ask({ messages: [...messages, choice.message, { role: 'tool', tool_call_id: 'x', content: '' }] });
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'messages[2].tool_call_id' });
  });

  it('end at the token limit and at stop strings as any text does', async () => {
    const cut = await ask({ tool_choice: 'required', max_completion_tokens: 30 });
    expect(cut.choices[0]?.finish_reason).toBe('length');
    const named = { type: 'function', function: { name: 'get_weather' } } as const;
    const stopped = await ask({ tool_choice: named, stop: ['"unit"'] });
    const [choice] = stopped.choices;
    expect(choice && callsOf(choice)[0]?.text).toMatch(/^\{\s*"city"/);
    expect(choice && callsOf(choice)[0]?.text).not.toContain('unit');
  });

  it('leave no piece of their markup in the content, wherever the token limit cuts them', async () => {
    const named = { type: 'function', function: { name: 'now' } } as const;
    const limits = Array.from({ length: 16 }, (_, index) => 1 + 4 * index);
    const cuts = limits.map(async (limit) => {
      const options = { tool_choice: named, seed: 2, max_completion_tokens: limit } as const;
      const { choices } = await ask(options);
      const [choice] = choices;
      let content = '';
      let text = '';
      const stream = await client.chat.completions.create({ model, messages, tools, ...options, stream: true });
      for await (const { choices: parts } of stream) {
        content += parts[0]?.delta.content ?? '';
        text += parts[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '';
      }
      const whole = choice?.message.content ?? '';
      expect([limit, whole, content, text]).toEqual([limit, '', '', (choice && callsOf(choice)[0]?.text) ?? '']);
      return choice?.finish_reason;
    });
    expect(new Set(await Promise.all(cuts))).toEqual(new Set(['length', 'tool_calls']));
  });

  it('have log-probabilities and usage of all tokens', async () => {
    const { choices, usage } = await ask({
      tool_choice: { type: 'function', function: { name: 'now' } },
      logprobs: true,
      top_logprobs: 2,
    });
    const tokens = choices[0]?.logprobs?.content ?? [];
    const text = tokens.map(({ token }) => token).join('');
    expect(text.replaceAll(/\s/g, '')).toBe('<tool_call>{"name":"now","arguments":{}}</tool_call>');
    expect(usage?.completion_tokens).toBeGreaterThanOrEqual(tokens.length);
  });

  it('stand beside a response format: one call or the document', async () => {
    const schema = {
      type: 'object',
      properties: { ok: { enum: [true] } },
      required: ['ok'],
      additionalProperties: false,
    };
    for (let seed = 1; seed <= 6; seed++) {
      const { choices } = await ask({
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
        seed,
        temperature: 1.5,
      });
      const [choice] = choices;
      if (choice === undefined) throw new Error('no choice');
      if (choice.finish_reason === 'tool_calls') expectValid(choice);
      else expect(JSON.parse(choice.message.content ?? '')).toEqual({ ok: true });
    }
  });

  it('are billed as their tokens, also when the client leaves', async () => {
    const before = new Set((await platform.closedJobs()).map(({ request_id: id }) => id));
    const controller = new AbortController();
    const stream = await client.chat.completions.create(
      {
        model,
        messages,
        stream: true,
        tool_choice: 'required',
        tools: [
          {
            type: 'function',
            function: {
              name: 'write',
              parameters: {
                type: 'object',
                properties: { text: { type: 'string', minLength: 4000 } },
                required: ['text'],
              },
            },
          },
        ],
      },
      { signal: controller.signal },
    );
    let seen = 0;
    try {
      for await (const chunk of stream) {
        seen += chunk.choices.length;
        if (seen > 8) controller.abort();
      }
    } catch (error) {
      expect(error).toBeInstanceOf(OpenAI.APIUserAbortError);
    }
    await expect
      .poll(async () => (await platform.closedJobs()).filter(({ request_id: id }) => !before.has(id)).length, {
        timeout: 20_000,
      })
      .toBe(1);
    const [job] = (await platform.closedJobs()).filter(({ request_id: id }) => !before.has(id));
    expect(Number(job?.completion_tokens)).toBeGreaterThan(0);
    const held = await platform.query('SELECT sum(usd_held_nano)::text AS held FROM balances');
    expect(held).toEqual([{ held: '0' }]);
  });

  it('may be custom: their input follows its format, whole, streamed and as history on both routes', async () => {
    const edit: OpenAI.ChatCompletionCustomTool = {
      type: 'custom',
      custom: {
        name: 'edit',
        format: { type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]{2,4} "[0-9]"\\n' } },
      },
    };
    const options = {
      tools: [now, edit],
      tool_choice: { type: 'custom', custom: { name: 'edit' } },
      temperature: 0,
    } as const;
    const { choices } = await ask({ ...options, tools: [...options.tools] });
    const message = choices[0]?.message;
    const [call] = message?.tool_calls ?? [];
    if (message === undefined || call?.type !== 'custom') throw new Error('no call of a custom tool');
    expect(message.content).toBeNull();
    expect(call.custom).toEqual({ name: 'edit', input: expect.stringMatching(/^[a-z]{2,4} "[0-9]"\n$/) as string });
    const stream = client.chat.completions.stream({ model, messages, ...options, tools: [...options.tools] });
    const streamed = (await stream.finalChatCompletion()).choices[0];
    expect(streamed?.finish_reason).toBe('tool_calls');
    expect(streamed?.message.tool_calls).toMatchObject([{ type: 'custom', custom: call.custom }]);

    const allowed = { mode: 'required' as const, tools: [{ type: 'custom', custom: { name: 'edit' } }] };
    const parallel = await ask({
      ...options,
      tools: [now, edit],
      tool_choice: { type: 'allowed_tools', allowed_tools: allowed },
      parallel_tool_calls: false,
      temperature: 1.5,
    });
    expect(parallel.choices[0]?.message.tool_calls?.map(({ type }) => type)).toEqual(['custom']);

    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'done' };
    const replayed = await ask({
      tools: [edit],
      messages: [...messages, message, result],
      max_completion_tokens: 4,
    });
    const items = await client.responses.create({
      model,
      tools: [
        {
          type: 'custom',
          name: 'edit',
          format: { type: 'grammar', syntax: 'regex', definition: '[a-z]{2,4} "[0-9]"\\n' },
        },
      ],
      input: [
        { type: 'message', role: 'user', content: 'the river' },
        { type: 'custom_tool_call', call_id: call.id, ...call.custom },
        { type: 'custom_tool_call_output', call_id: call.id, output: 'done' },
      ],
      max_output_tokens: 4,
    });
    expect(items.usage?.input_tokens).toBe(replayed.usage?.prompt_tokens);

    const wrong = {
      ...edit.custom,
      format: { type: 'grammar' as const, grammar: { syntax: 'lark' as const, definition: 'start: b' } },
    };
    await expect(ask({ tools: [{ type: 'custom', custom: wrong }] })).rejects.toMatchObject({
      status: 400,
      param: 'tools[0].custom.format.grammar.definition',
      message: expect.stringContaining('line 1: b is not defined') as string,
    });
  });

  it('are refused by the place of what is not covered, and nothing is charged', async () => {
    const balance = () => platform.query('SELECT usd_nano, usd_held_nano FROM balances');
    const held = () => platform.query('SELECT sum(usd_held_nano)::text AS held FROM balances');
    // Refused requests of earlier tests may not be closed yet.
    await expect.poll(held, { timeout: 20_000 }).toEqual([{ held: '0' }]);
    const before = await balance();
    const odd = {
      type: 'function' as const,
      function: {
        name: 'odd',
        strict: true,
        parameters: { type: 'object', properties: { a: { unevaluatedItems: {} } } },
      },
    };
    for (const choice of ['auto', 'required'] as const) {
      await expect(ask({ tools: [now, odd], tool_choice: choice })).rejects.toMatchObject({
        status: 400,
        code: 'INVALID_REQUEST',
        param: 'tools[1].function.parameters',
        message: expect.stringContaining('#/properties/a/unevaluatedItems') as string,
      });
    }
    const search = [{ type: 'web_search' }] as unknown as OpenAI.ChatCompletionTool[];
    await expect(ask({ tools: search })).rejects.toMatchObject({ status: 400, param: 'tools[0].type' });
    // The reservation is released when the refused jobs are closed.
    await expect.poll(balance, { timeout: 20_000 }).toEqual(before);
  });

  it('are served without what is not covered where they are not strict, which warnings name', async () => {
    const property = { type: 'integer', format: 'int32', unevaluatedItems: false };
    const parameters = { type: 'object', properties: { a: property }, required: ['a'] };
    const odd = { type: 'function' as const, function: { name: 'odd', parameters } };
    const response = await ask({ tools: [odd], tool_choice: 'required' });
    expect(response.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'odd' } });
    const param = 'tools[0].function.parameters';
    expect(response).toMatchObject({
      warnings: [
        { code: 'schema_keywords_ignored', param, message: expect.stringContaining('#/properties/a/format') as string },
        {
          code: 'schema_relaxed',
          param,
          message: expect.stringContaining('#/properties/a/unevaluatedItems') as string,
        },
      ],
    });
  });

  it('are served without what only the compiler cannot follow, which the first chunk of a stream names, too', async () => {
    const parameters = { type: 'object', properties: { a: { enum: ['xx', 'y'], pattern: '(x)\\1' } }, required: ['a'] };
    const lenient = { type: 'function' as const, function: { name: 'odd', parameters } };
    const message = expect.stringMatching(/#\/properties\/a\/pattern \(.*not checked on the finished value/) as string;
    const warnings = [{ code: 'schema_relaxed', param: 'tools[0].function.parameters', message }];
    expect(await ask({ tools: [lenient], tool_choice: 'required' })).toMatchObject({ warnings });
    const stream = await client.chat.completions.create({
      model,
      messages,
      tools: [lenient],
      tool_choice: 'required',
      stream: true,
    });
    for await (const chunk of stream) {
      expect(chunk).toMatchObject({ warnings });
      break;
    }
    const strict = { ...lenient, function: { ...lenient.function, strict: true } };
    const refused = { model, messages, tools: [strict], stream: true as const };
    await expect(client.chat.completions.create(refused)).rejects.toMatchObject({
      status: 400,
      param: 'tools[0].function.parameters',
      message: expect.stringContaining('#/properties/a/pattern') as string,
    });
  });

  it('take 128 tools', async () => {
    const many = Array.from({ length: 128 }, (_, index): OpenAI.ChatCompletionTool => ({
      ...weather,
      function: { ...weather.function, name: `tool_${index}` },
    }));
    const { choices } = await ask({ tools: many, tool_choice: 'required', temperature: 1.5 }).catch(
      (error: unknown) => {
        // The tiny model's context is shorter than what describes so many.
        expect(error).toMatchObject({ status: 400, param: 'messages' });
        return { choices: [] };
      },
    );
    for (const choice of choices) expect(callsOf(choice)[0]?.name).toMatch(/^tool_\d+$/);
  });
});
