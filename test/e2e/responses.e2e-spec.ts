import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* The Responses API by the official client, against the real processes. */

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;
type ResponseBody = OpenAI.Responses.ResponseCreateParamsNonStreaming;

const model = 'tiny-llama';

let platform: Platform;
let client: OpenAI;

function words(prompt: string, count: number): string {
  return deterministicWords(prompt, { count }).join('');
}

function typesOf(events: StreamEvent[]): string[] {
  return events.map(({ type }) => type.replace('response.', '')).filter((type) => !type.endsWith('.delta'));
}

async function eventsOf(body: OpenAI.Responses.ResponseCreateParamsStreaming): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of await client.responses.create(body)) events.push(event);
  return events;
}

describe('responses on the deterministic engine', () => {
  beforeAll(async () => {
    platform = await startPlatform();
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  it('are complete, echo the request and carry the headers of chat', async () => {
    const input = 'Hello [[tokens=5]]';
    const { data, response } = await client.responses
      .create({
        model,
        input,
        instructions: 'Be brief.',
        metadata: { a: 'b' },
        temperature: 0.5,
        user: 'u',
        store: true,
      })
      .withResponse();
    expect(data.output_text).toBe(words(`system: Be brief.\nuser: ${input}`, 5));
    const id = response.headers.get('cf-ray') ?? '';
    expect(data).toMatchObject({
      id: `resp_${id}`,
      object: 'response',
      status: 'completed',
      model,
      instructions: 'Be brief.',
      metadata: { a: 'b' },
      temperature: 0.5,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      user: 'u',
      store: false,
      tools: [],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      truncation: 'disabled',
      error: null,
      incomplete_details: null,
      text: { format: { type: 'text' } },
      output: [{ type: 'message', role: 'assistant', status: 'completed' }],
      usage: {
        input_tokens: 6,
        output_tokens: 5,
        total_tokens: 11,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      },
    });
    for (const name of ['x-ratelimit-remaining-requests', 'x-service-balance-usd', 'x-service-model-id']) {
      expect([name, response.headers.get(name)]).toEqual([name, expect.any(String)]);
    }
    const job = (await platform.closedJobs()).find(({ request_id: known }) => known === id);
    expect(job).toMatchObject({ state: 'succeeded', prompt_tokens: 6, completion_tokens: 5 });
  });

  it('cost as much as the same chat', async () => {
    const spent = async (work: () => Promise<unknown>) => {
      const balance = async () => {
        await platform.closedJobs();
        const [row] = await platform.query<{ usd_nano: string }>('SELECT usd_nano FROM balances');
        return BigInt(row?.usd_nano ?? 0);
      };
      const before = await balance();
      await work();
      return before - (await balance());
    };
    const content = 'Price [[tokens=7]]';
    const chat = await spent(() => client.chat.completions.create({ model, messages: [{ role: 'user', content }] }));
    expect(chat).toBeGreaterThan(0n);
    expect(await spent(() => client.responses.create({ model, input: content }))).toBe(chat);
    expect(await spent(() => eventsOf({ model, input: content, stream: true }))).toBe(chat);
  });

  it('stream in order, with reasoning before the message', async () => {
    const events = await eventsOf({ model, input: 'Think [[tokens=6 think=3]]', stream: true });
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'reasoning_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const joined = (type: string) =>
      events.flatMap((event) => (event.type === type && 'delta' in event ? [event.delta] : [])).join('');
    const last = events.at(-1);
    const output = last?.type === 'response.completed' ? last.response.output : [];
    expect(output).toMatchObject([
      { type: 'reasoning', content: [{ text: joined('response.reasoning_text.delta') }] },
      { type: 'message', content: [{ text: joined('response.output_text.delta') }] },
    ]);
    expect(joined('response.reasoning_text.delta')).not.toBe('');
    expect(joined('response.output_text.delta')).not.toBe('');
  });

  it('are put together by the stream helper of the client', async () => {
    const final = await client.responses.stream({ model, input: 'Helper [[tokens=6]]' }).finalResponse();
    expect(final.output_text).toBe(words('user: Helper [[tokens=6]]', 6));
    expect(final.usage?.output_tokens).toBe(6);
  });

  it('are incomplete at the token limit, whole and streamed', async () => {
    const body = { model, input: 'Long [[tokens=20]]', max_output_tokens: 3 };
    const whole = await client.responses.create(body);
    expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    const last = (await eventsOf({ ...body, stream: true })).at(-1);
    const content = [{ text: whole.output_text }];
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { output: [{ status: 'incomplete', content }] },
    });
  });

  it('include log-probabilities', async () => {
    const include = ['message.output_text.logprobs' as const];
    const { output } = await client.responses.create({ model, input: 'Logs [[tokens=2]]', include, top_logprobs: 1 });
    expect(output).toMatchObject([{ content: [{ logprobs: [{ top_logprobs: [{}] }, { top_logprobs: [{}] }] }] }]);
  });

  it('send encrypted reasoning that the next request brings back', async () => {
    const input = 'Secret [[tokens=6 think=3]]';
    const include = ['reasoning.encrypted_content' as const];
    const first = await client.responses.create({ model, input, include, reasoning: { summary: 'auto' } });
    const [reasoning, message] = first.output;
    if (reasoning?.type !== 'reasoning' || message?.type !== 'message') throw new Error('reasoning was expected first');
    expect(reasoning.summary).toMatchObject([{ type: 'summary_text', text: expect.any(String) as string }]);
    expect(reasoning.encrypted_content).not.toContain('amber');
    const items: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: input },
      { type: 'reasoning', id: reasoning.id, summary: [], encrypted_content: reasoning.encrypted_content },
      message,
      { role: 'user', content: 'Go on [[tokens=2]]' },
    ];
    expect((await client.responses.create({ model, input: items })).status).toBe('completed');
    const foreign = items.map((item) => ('summary' in item ? { ...item, encrypted_content: 'gAAAAA' } : item));
    await expect(client.responses.create({ model, input: foreign })).rejects.toMatchObject({
      status: 400,
      param: 'input[1].encrypted_content',
    });
  });

  it('fail in the middle of a stream with an error event', async () => {
    const events: StreamEvent[] = [];
    const failing = (async () => {
      const stream = await client.responses.create({ model, input: '[[fail=2]]', stream: true });
      for await (const event of stream) events.push(event);
    })();
    await expect(failing).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
    expect(events.at(0)?.type).toBe('response.created');
    const raw = await fetch(`${platform.baseUrl}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${platform.inferenceKey}` },
      body: JSON.stringify({ model, input: '[[fail=2]]', stream: true }),
    });
    const frames = (await raw.text()).split('\n\n').filter((frame) => frame.startsWith('event: '));
    expect(frames.slice(-2).map((frame) => frame.split('\n')[0])).toEqual(['event: error', 'event: response.failed']);
    await expect(client.responses.create({ model, input: '[[fail=2]]' })).rejects.toMatchObject({ status: 500 });
  });

  it('are cancelled when the client disconnects', async () => {
    const stream = await client.responses.create({ model, input: '[[tokens=5000 delay=20]]', stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    expect((await platform.closedJobs()).at(-1)?.state).toBe('cancelled');
  });

  it.each([false, true])('are replayed for an idempotency key, stream: %s', async (stream) => {
    const ask = () =>
      fetch(`${platform.baseUrl}/responses`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${platform.inferenceKey}`,
          'idempotency-key': `responses-${stream}`,
        },
        body: JSON.stringify({ model, input: 'Once [[tokens=3]]', stream }),
      });
    const first = await (await ask()).text();
    const again = await ask();
    expect([again.headers.get('idempotent-replayed'), await again.text()]).toEqual(['true', first]);
    expect(first).toContain('"response"');
  });

  it.each<[string, object, number]>([
    ['model', { model: 'no-such-model' }, 404],
    [
      'input[0].content[0]',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }] },
      400,
    ],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }, 400],
    [
      'tools[0].tools[0].name',
      { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'b c' }] }] },
      400,
    ],
    ['tools[0].name', { tools: [{ type: 'custom', name: 'two words' }] }, 400],
    [
      'tools[0].format.syntax',
      { tools: [{ type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'bnf' } }] },
      400,
    ],
    ['input[0].input', { input: [{ type: 'custom_tool_call', call_id: 'x', name: 'f' }] }, 400],
    ['max_output_tokens', { max_output_tokens: 100_000 }, 400],
    ['reasoning.effort', { reasoning: { effort: 'high' } }, 400],
    ['previous_response_id', { previous_response_id: 'resp_1' }, 400],
    ['input', { input: 'long '.repeat(5_000) }, 400],
    ['tools[0].name', { tools: [{ type: 'function', name: 'two words' }] }, 400],
    ['tools[1].name', { tools: ['f', 'f'].map((name) => ({ type: 'function', name })) }, 400],
    ['tools[0].parameters', { tools: [{ type: 'function', name: 'f', parameters: { type: 'string' } }] }, 400],
    ['tools', { tools: Array.from({ length: 129 }, (_, index) => ({ type: 'function', name: `f_${index}` })) }, 400],
    ['tool_choice', { tool_choice: { type: 'function', name: 'none' } }, 400],
    ['input[0].type', { input: [{ type: 'computer_call' }] }, 400],
    ['input[0].role', { input: [{ role: 'tool', content: 'x' }] }, 400],
    ['input[0].content[0].type', { input: [{ role: 'user', content: [{ type: 'input_smell' }] }] }, 400],
    ['input[0].call_id', { input: [{ type: 'function_call_output', call_id: 'x', output: '' }] }, 400],
    ['input[0].arguments', { input: [{ type: 'function_call', call_id: 'x', name: 'f', arguments: 1 }] }, 400],
    ['input[0].encrypted_content', { input: [{ type: 'reasoning', encrypted_content: '@@' }] }, 400],
    ['input[0].id', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 400],
    [
      'input[0].content[0].file_data',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,@@' }] }] },
      400,
    ],
    ['input', { input: Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' })) }, 400],
    // As deep as the check goes.
    ['input[0][0][0][0][0][0][0]', { input: [JSON.parse('['.repeat(500) + ']'.repeat(500)) as unknown] }, 400],
  ])('name %s in a refusal that costs nothing', async (param, changes, status) => {
    const balance = () => platform.query('SELECT usd_nano, usd_held_nano FROM balances');
    await platform.closedJobs();
    const before = await balance();
    const body = { model, input: 'Hello', ...changes } as ResponseBody;
    await expect(client.responses.create(body)).rejects.toMatchObject({ status, param });
    await platform.closedJobs();
    expect(await balance()).toEqual(before);
  });
});

/** A custom tool whose input follows a grammar. */
function formatted(syntax: 'regex' | 'lark', definition: string): OpenAI.Responses.CustomTool {
  return { type: 'custom', name: 'edit', format: { type: 'grammar', syntax, definition } };
}

describe('responses of the product’s engine', () => {
  const schema = {
    type: 'object',
    properties: { kind: { type: 'string', enum: ['cat', 'dog'] } },
    required: ['kind'],
    additionalProperties: false,
  };
  const format = { type: 'json_schema' as const, name: 'pet', strict: true, schema };

  beforeAll(async () => {
    platform = await startPlatform({ engine: 'text', models: [{ contextLength: 2_048 }] });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    await platform.stop();
  });

  it('follow text.format, which the client parses', async () => {
    const body = { model, input: 'the river', text: { format }, max_output_tokens: 60 };
    const { output_parsed: parsed } = await client.responses.parse({
      ...body,
      text: { format: { ...format, $brand: 'auto-parseable-response-format', $parseRaw: JSON.parse } as typeof format },
    });
    expect(['cat', 'dog']).toContain((parsed as unknown as { kind: string }).kind);
    const streamed = await client.responses.stream(body).finalResponse();
    expect(['cat', 'dog']).toContain((JSON.parse(streamed.output_text) as { kind: string }).kind);
  });

  it('name text.format.schema for a schema that is not covered', async () => {
    const odd = { ...format, schema: { type: 'object', properties: { a: { unevaluatedItems: false } } } };
    for (const stream of [false, true]) {
      const refused = client.responses.create({ model, input: 'the river', text: { format: odd }, stream });
      await expect(refused).rejects.toMatchObject({ status: 400, param: 'text.format.schema' });
    }
  });

  it('call functions: whole, streamed, and with their results sent back', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
      required: ['city'],
      additionalProperties: false,
    };
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: true }];
    const body = { model, input: 'the river', tools, tool_choice: 'required' as const, parallel_tool_calls: false };
    const whole = await client.responses.create({ ...body, temperature: 0 });
    const call = whole.output.find((item) => item.type === 'function_call');
    if (call === undefined) throw new Error('a function call was expected');
    expect(call).toMatchObject({ name: 'get_weather', status: 'completed' });
    expect(['Paris', 'Rome']).toContain((JSON.parse(call.arguments) as { city: string }).city);
    const events = await eventsOf({ ...body, temperature: 0, stream: true });
    const fragments = events.flatMap((event) =>
      event.type === 'response.function_call_arguments.delta' ? [event.delta] : [],
    );
    expect(fragments.join('')).toBe(call.arguments);
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '{"degrees":21}' };
    const items: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'the river' }, call, output];
    const next = await client.responses.create({ model, input: items, tools, max_output_tokens: 5 });
    expect(next.object).toBe('response');
    const unknown = [...items.slice(0, 2), { ...output, call_id: 'call_other' }];
    await expect(client.responses.create({ model, input: unknown, tools })).rejects.toMatchObject({
      status: 400,
      param: 'input[2].call_id',
    });
  });

  it.each<[OpenAI.Responses.CustomTool, RegExp]>([
    [formatted('regex', '[A-Z]{2,4} "[0-9]"\\n'), /^[A-Z]{2,4} "[0-9]"\n$/],
    [
      formatted('lark', 'start: line~1..3\nline: ("+" | "-") /[a-z"]{1,6}/ LF -> change\n%import common.LF'),
      /^([+-][a-z"]{1,6}\n){1,3}$/,
    ],
  ])('write the input of a custom tool in its format: %j', async (edit, expected) => {
    const body = {
      model,
      input: 'the river',
      tools: [edit],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
    };
    const inputs: string[] = [];
    for (const temperature of [0, 0.7, 1, 1.5, 2]) {
      const { output, ...response } = await client.responses.create({ ...body, temperature });
      expect((response as { warnings?: unknown[] }).warnings ?? []).toEqual([]);
      expect(output.map(({ type }) => type)).toEqual(['custom_tool_call']);
      for (const item of output) if (item.type === 'custom_tool_call') inputs.push(item.input);
    }
    const events = await eventsOf({ ...body, temperature: 0, stream: true });
    const deltas = events.flatMap((event) =>
      event.type === 'response.custom_tool_call_input.delta' ? event.delta : [],
    );
    expect(deltas.join('')).toBe(inputs[0]);
    expect(new Set(inputs).size).toBeGreaterThan(2);
    for (const input of inputs) expect(input).toMatch(expected);
  });

  it('name the line of a grammar that is not covered, whether or not the tool must be called', async () => {
    const edit = formatted('lark', 'start: line+\nline: /(?<=a)b/');
    for (const [stream, choice] of [
      [false, 'auto'],
      [true, 'required'],
    ] as const) {
      const refused = client.responses.create({
        model,
        input: 'the river',
        tools: [edit],
        tool_choice: choice,
        stream,
      });
      await expect(refused).rejects.toMatchObject({
        status: 400,
        param: 'tools[0].format.definition',
        message: expect.stringMatching(/The grammar is not supported at line 2: .*look-behind/) as string,
      });
    }
  });

  describe('by the AI SDK, whose default they are', () => {
    const options = () => {
      const provider = createOpenAI({ baseURL: platform.baseUrl, apiKey: platform.inferenceKey });
      return { model: provider(model), prompt: 'the river', maxRetries: 0 };
    };

    it('generate and stream text', async () => {
      const whole = await generateText({ ...options(), maxOutputTokens: 20, temperature: 0 });
      expect([whole.finishReason, whole.usage.outputTokens]).toEqual(['length', 20]);
      const stream = streamText({ ...options(), maxOutputTokens: 20, temperature: 0 });
      let text = '';
      for await (const part of stream.textStream) text += part;
      expect(text).toBe(whole.text);
    });

    it('generate objects', async () => {
      const output = Output.object({ schema: jsonSchema<{ kind: string }>(schema as object) });
      const { output: object } = await generateText({ ...options(), output });
      expect(['cat', 'dog']).toContain(object.kind);
    });

    it('call tools and go on with their results', async () => {
      const weather = tool({
        description: 'Weather of a city.',
        inputSchema: jsonSchema<{ city: string }>({
          type: 'object',
          properties: { city: { type: 'string', enum: ['Paris', 'Rome'] } },
          required: ['city'],
          additionalProperties: false,
        }),
        execute: ({ city }) => Promise.resolve({ city, degrees: 21 }),
      });
      const { steps } = await generateText({
        ...options(),
        maxOutputTokens: 150,
        tools: { weather },
        prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'none' }),
        stopWhen: stepCountIs(2),
        providerOptions: { openai: { store: false, parallelToolCalls: false } },
      });
      expect(steps).toHaveLength(2);
      expect(steps[0]?.toolResults).toMatchObject([{ output: { degrees: 21 } }]);
    });
  });
});
