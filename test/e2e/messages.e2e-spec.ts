import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noCapabilities } from '#model-registry/manifest';
import { deterministicWords } from '#test/deterministic-engine';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* The Messages API by the official client, against the real processes. */

type Message = Anthropic.Message;
type MessageEvent = Anthropic.RawMessageStreamEvent;
/** Clients of this version have no sampling parameters; those of earlier ones send them. */
type Request = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'> & { temperature?: number };

const model = 'tiny-llama';
const image = { type: 'base64', media_type: 'image/png', data: 'AAAA' } as const;

let platform: Platform;
let client: Anthropic;

function words(prompt: string, count: number): string {
  return deterministicWords(prompt, { count }).join('');
}

/** A request with one message of the user. */
function ask(content: string, changes: Partial<Request> = {}): Request {
  return { model, max_tokens: 64, messages: [{ role: 'user', content }], ...changes };
}

function textOf({ content }: Message): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
}

async function eventsOf(request: Request): Promise<MessageEvent[]> {
  const events: MessageEvent[] = [];
  for await (const event of await client.messages.create({ ...request, stream: true })) events.push(event);
  return events;
}

/** Types without repeated deltas. */
function sequenceOf(events: MessageEvent[]): string[] {
  const types = events.map((event) => (event.type === 'content_block_delta' ? event.delta.type : event.type));
  return types.filter((type, index) => !(type.endsWith('_delta') && types[index - 1] === type));
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': platform.inferenceKey, ...headers },
    body: JSON.stringify(body),
  });
}

function newClient(changes: ConstructorParameters<typeof Anthropic>[0] = {}): Anthropic {
  return new Anthropic({ apiKey: platform.inferenceKey, baseURL: `${platform.origin}/api`, maxRetries: 0, ...changes });
}

describe('messages on the deterministic engine', () => {
  beforeAll(async () => {
    const manifest = { capabilities: { ...noCapabilities, supportsReasoning: true }, traits: { default: 1 } };
    const models = [{ contextLength: 16_384, manifest }];
    platform = await startPlatform({ models, env: { SLUICE_KEEP_ALIVE_MS: '200' } });
    client = newClient();
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  it('are complete, and close their job', async () => {
    const content = 'Hello [[tokens=5]]';
    const request = ask(content, { system: 'Be brief.', temperature: 0.5, metadata: { user_id: 'u' } });
    const { data, response, request_id: id } = await client.messages.create(request).withResponse();
    expect(data).toMatchObject({
      id: `msg_${id}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: words(`system: Be brief.\nuser: ${content}`, 5), citations: null }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 6, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    });
    expect(data).not.toHaveProperty('warnings');
    for (const name of ['x-ratelimit-remaining-requests', 'x-service-balance-usd', 'x-service-model-id']) {
      expect([name, response.headers.get(name)]).toEqual([name, expect.any(String)]);
    }
    const job = (await platform.closedJobs()).find(({ request_id: known }) => known === id);
    expect(job).toMatchObject({ state: 'succeeded', prompt_tokens: 6, completion_tokens: 5 });
  });

  it('are charged once, and as much as the same chat', async () => {
    const balance = async () => {
      await platform.closedJobs();
      const [row] = await platform.query<{ usd_nano: string }>('SELECT usd_nano FROM balances');
      return BigInt(row?.usd_nano ?? 0);
    };
    const spent = async (work: () => Promise<unknown>) => {
      const before = await balance();
      await work();
      return before - (await balance());
    };
    const content = 'Price [[tokens=7]]';
    const openai = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content }];
    const chat = await spent(() => openai.chat.completions.create({ model, messages, max_completion_tokens: 64 }));
    expect(chat).toBeGreaterThan(0n);
    expect(await spent(() => client.messages.create(ask(content)))).toBe(chat);
    expect(await spent(() => eventsOf(ask(content)))).toBe(chat);
    const headers = { 'idempotency-key': 'messages-once' };
    const twice = async () => {
      const first = await client.messages.create(ask(content), { headers });
      expect(await client.messages.create(ask(content), { headers })).toEqual(first);
    };
    expect(await spent(twice)).toBe(chat);
    expect(await spent(() => client.messages.countTokens({ model, messages }))).toBe(0n);
  });

  it('stream in order, and are put together by the client', async () => {
    const request = ask('Stream [[tokens=6]]');
    expect(sequenceOf(await eventsOf(request))).toEqual([
      ...['message_start', 'content_block_start', 'text_delta', 'content_block_stop', 'message_delta', 'message_stop'],
    ]);
    const final = await client.messages.stream(request).finalMessage();
    expect(final).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 6 } });
    expect(textOf(final)).toBe(words('user: Stream [[tokens=6]]', 6));
  });

  it('are named events without an end of another format, kept alive by pings', async () => {
    const text = await (await post('messages', { ...ask('Slow [[tokens=2 delay=1500]]'), stream: true })).text();
    const frames = text.split('\n\n').filter((frame) => frame !== '');
    for (const frame of frames) expect(frame).toMatch(/^event: (\w+)\ndata: \{"type":"\1"/);
    expect(frames.some((frame) => frame.startsWith('event: ping\n'))).toBe(true);
    expect(frames.at(-1)).toBe('event: message_stop\ndata: {"type":"message_stop"}');
  });

  it.each([
    ['max_tokens', null, ask('Long [[tokens=20]]', { max_tokens: 3 })],
    ['stop_sequence', 'STOP', ask('one two STOP three [[echo]]', { stop_sequences: ['never', 'STOP'] })],
    ['end_turn', null, ask('one two [[echo]]', { stop_sequences: ['never'] })],
  ])('end with the reason %s, whole and streamed', async (reason, sequence, request) => {
    const whole = await client.messages.create(request);
    const streamed = await client.messages.stream(request).finalMessage();
    for (const message of [whole, streamed]) {
      expect(message).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
    }
    expect(textOf(streamed)).toBe(textOf(whole));
    expect(textOf(whole)).not.toContain('STOP');
  });

  describe('with thinking', () => {
    const thinking = { type: 'enabled', budget_tokens: 32 } as const;

    it('send it before the text, and not unless it is asked for', async () => {
      const content = 'Think [[tokens=6 think=3]]';
      const asked = await client.messages.create(ask(content, { thinking }));
      const [thought, answer] = asked.content;
      if (thought?.type !== 'thinking' || answer?.type !== 'text') throw new Error('thinking was expected first');
      expect(thought.thinking.trim()).not.toBe('');
      expect(asked.usage.output_tokens_details?.thinking_tokens).toBeGreaterThan(0);
      const plain = await client.messages.create(ask(content));
      expect(plain.content.map(({ type }) => type)).toEqual(['text']);
      expect(textOf(plain)).toBe(answer.text);
      const events = await eventsOf(ask(content, { thinking }));
      const block = (deltas: string[]) => ['content_block_start', ...deltas, 'content_block_stop'];
      expect(sequenceOf(events)).toEqual([
        'message_start',
        ...block(['thinking_delta', 'signature_delta']),
        ...block(['text_delta']),
        ...['message_delta', 'message_stop'],
      ]);
    });

    it('bring it back, also by a signature alone', async () => {
      const first = ask('Secret [[tokens=6 think=3]]', { thinking: { ...thinking, display: 'omitted' } });
      const { content } = await client.messages.create(first);
      const [thought] = content;
      if (thought?.type !== 'thinking') throw new Error('thinking was expected first');
      expect([thought.thinking, thought.signature]).toEqual(['', expect.stringMatching(/^[\w-]{20,}$/)]);
      const next = (signature: string): Request => ({
        ...first,
        messages: [
          ...first.messages,
          { role: 'assistant', content: [{ ...thought, signature }, ...content.slice(1)] },
          { role: 'user', content: 'Go on [[tokens=2]]' },
        ],
      });
      expect(await client.messages.create(next(thought.signature))).toMatchObject({ stop_reason: 'end_turn' });
      await expect(client.messages.create(next('foreign'))).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('messages[1].content[0].signature') as string,
      });
    });
  });

  it('count tokens as the message does', async () => {
    const request = ask('Count these words [[tokens=1]]', { system: 'Be brief.' });
    const { max_tokens: _max, ...prompt } = request;
    const { input_tokens: counted } = await client.messages.countTokens(prompt);
    expect(counted).toBe((await client.messages.create(request)).usage.input_tokens);
    await expect(client.messages.countTokens({ ...prompt, max_tokens: 3 } as never)).rejects.toMatchObject({
      status: 400,
    });
  });

  it('say how many tokens a cache held', async () => {
    const { usage } = await client.messages.create(ask('one two three four [[cached=3 tokens=1]]'));
    expect(usage.cache_read_input_tokens).toBe(3);
    const { data } = await client.messages.create(ask('one two three four [[cached=0 tokens=1]]')).withResponse();
    expect(usage.input_tokens).toBe(data.usage.input_tokens - 3);
  });

  it('are replayed as they were for an idempotency key', async () => {
    const again = () => post('messages', { ...ask('Once [[tokens=3]]'), stream: true }, { 'idempotency-key': 'm-1' });
    const first = await (await again()).text();
    const second = await again();
    expect([second.headers.get('idempotent-replayed'), await second.text()]).toEqual(['true', first]);
    expect(first).toContain('event: message_stop');
  });

  it('are cancelled when the client disconnects, streamed or whole', async () => {
    const stream = await client.messages.create({ ...ask('[[tokens=5000 delay=20]]'), max_tokens: 5000, stream: true });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    const cut = (await platform.closedJobs()).at(-1);
    expect(cut?.state).toBe('cancelled');
    expect(cut?.completion_tokens).toBeLessThan(500);
    const abort = new AbortController();
    const whole = client.messages.create(ask('Whole [[tokens=5000 delay=20]]'), { signal: abort.signal });
    const refusal = whole.catch((error: unknown) => error);
    const isOpen = "SELECT 1 FROM jobs WHERE state IN ('queued', 'running')";
    await expect.poll(async () => (await platform.query(isOpen)).length).toBe(1);
    abort.abort();
    expect(await refusal).toBeInstanceOf(Anthropic.APIUserAbortError);
    expect((await platform.closedJobs()).at(-1)?.state).toBe('cancelled');
  });

  it('fail in the middle of a stream with an error event', async () => {
    const events: MessageEvent[] = [];
    const failing = (async () => {
      const stream = await client.messages.create({ ...ask('[[fail=2]]'), stream: true });
      for await (const event of stream) events.push(event);
    })();
    await expect(failing).rejects.toMatchObject({ type: 'api_error' });
    expect(events.at(0)?.type).toBe('message_start');
    await expect(client.messages.create(ask('[[fail=2]]'))).rejects.toMatchObject({ status: 500, type: 'api_error' });
  });

  describe('are refused in the words of their clients', () => {
    it('with a wrong key, without a key, and with neither header', async () => {
      const wrong = newClient({ apiKey: 'slk_wrong' });
      const refusal = await wrong.messages.create(ask('x')).catch((error: unknown) => error);
      if (!(refusal instanceof Anthropic.AuthenticationError)) throw new Error('an AuthenticationError was expected');
      expect(refusal).toMatchObject({
        status: 401,
        type: 'authentication_error',
        requestID: expect.any(String),
        error: { type: 'error', error: { type: 'authentication_error' }, request_id: refusal.requestID },
      });
      const none = await post('messages', ask('x'), { 'x-api-key': '' });
      expect([none.status, await none.json()]).toMatchObject([401, { type: 'error' }]);
      const bearer = newClient({ apiKey: null, authToken: platform.inferenceKey });
      expect((await bearer.messages.create(ask('x [[tokens=1]]'))).role).toBe('assistant');
    });

    it.each<[string, object]>([
      ['container', { container: 'c' }],
      ['max_tokens', { max_tokens: undefined }],
      ['messages[0].content[0].source.type', { messages: [{ role: 'user', content: [fileImage()] }] }],
      ['messages[0].content[0]', { messages: [{ role: 'user', content: [{ type: 'image', source: image }] }] }],
      ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['temperature', { temperature: 1.5 }],
    ])('with a wrong field: %s', async (field, changes) => {
      const response = await post('messages', { ...ask('x'), ...changes });
      const body = (await response.json()) as { error: { message: string } };
      expect([response.status, body]).toMatchObject([
        400,
        { type: 'error', error: { type: 'invalid_request_error' }, request_id: response.headers.get('request-id') },
      ]);
      expect(body.error.message).toContain(field);
    });

    it('for another version, an unknown model, another method and an unknown path', async () => {
      const earlier = await post('messages', ask('x [[tokens=1]]'), { 'anthropic-version': '2023-06-01' });
      expect(earlier.status).toBe(200);
      const version = await post('messages', ask('x'), { 'anthropic-version': '2023-01-01' });
      expect([version.status, await version.text()]).toEqual([400, expect.stringContaining('anthropic-version')]);
      await expect(client.messages.create(ask('x', { model: 'nobody' }))).rejects.toMatchObject({
        status: 404,
        type: 'not_found_error',
      });
      const get = await fetch(`${platform.baseUrl}/messages`, { headers: { 'x-api-key': platform.inferenceKey } });
      expect([get.status, await get.json()]).toMatchObject([405, { type: 'error' }]);
      await expect(client.messages.batches.list()).rejects.toMatchObject({ status: 404, type: 'not_found_error' });
    });
  });

  it('answer a coding agent that knows another model', async () => {
    const mark = { cache_control: { type: 'ephemeral' as const } };
    const tools = Array.from({ length: 40 }, (_, index) => ({
      name: `mcp__server__tool_${index}`,
      description: 'A tool of the agent. '.repeat(4),
      input_schema: { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] },
      ...(index === 39 && mark),
    }));
    const stream = client.beta.messages.stream({
      model: 'claude-sonnet-5-5',
      max_tokens: 32_000,
      betas: ['interleaved-thinking-2025-05-14', 'fine-grained-tool-streaming-2025-05-14'],
      system: [
        { type: 'text', text: 'You are an agent.' },
        { type: 'text', text: 'Rules of the project. '.repeat(20), ...mark },
      ],
      thinking: { type: 'enabled', budget_tokens: 31_999 },
      metadata: { user_id: 'user_1_session_2' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: '<system-reminder>Be careful.</system-reminder>' }] },
        { role: 'user', content: [{ type: 'text', text: 'List the files. [[tokens=4]]', ...mark }] },
      ],
      tools,
    });
    const message = await stream.finalMessage();
    expect(message).toMatchObject({ model, stop_reason: 'end_turn', usage: { output_tokens: 4 } });
    expect(message).toMatchObject({ warnings: [{ code: 'reduced_to_model', param: 'max_tokens' }] });
  });
});

function fileImage() {
  return { type: 'image', source: { type: 'file', file_id: 'file_1' } };
}

describe('messages with tools', () => {
  const weather: Anthropic.Tool = {
    name: 'get_weather',
    description: 'The weather in a city.',
    input_schema: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Rome', 'Oslo'] }, unit: { enum: ['c', 'f'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  };

  beforeAll(async () => {
    platform = await startPlatform({ engine: 'text', models: [{ contextLength: 2048 }] });
    client = newClient();
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  function callsOf({ content }: Message): Anthropic.ToolUseBlock[] {
    return content.filter((block) => block.type === 'tool_use');
  }

  it('go round: the call, its result, and the next message', async () => {
    const request = ask('What is the weather?', {
      max_tokens: 120,
      tools: [weather],
      tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
    });
    const first = await client.messages.create(request);
    const [call, ...others] = callsOf(first);
    if (call === undefined) throw new Error('a call was expected');
    expect(others).toEqual([]);
    expect(first.stop_reason).toBe('tool_use');
    expect(call).toMatchObject({ id: expect.stringMatching(/^[\w-]+$/) as string, name: 'get_weather' });
    expect(['Rome', 'Oslo']).toContain((call.input as { city: string }).city);
    const result = { type: 'tool_result' as const, tool_use_id: call.id, content: '21 degrees', is_error: false };
    const next: Request = {
      ...request,
      tool_choice: { type: 'none' },
      messages: [
        ...request.messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result, { type: 'text', text: 'And tomorrow?' }] },
      ],
    };
    const second = await client.messages.create(next);
    expect(callsOf(second)).toEqual([]);
    const without = await client.messages.create({ ...next, messages: next.messages.slice(0, 1) });
    expect(second.usage.input_tokens + (second.usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(
      without.usage.input_tokens + (without.usage.cache_read_input_tokens ?? 0),
    );
  });

  it('stream the arguments, which the client puts together', async () => {
    const request = ask('What is the weather?', { max_tokens: 120, tools: [weather], tool_choice: { type: 'any' } });
    const stream = client.messages.stream(request);
    let pieces = '';
    stream.on('inputJson', (piece) => (pieces += piece));
    const final = await stream.finalMessage();
    const calls = callsOf(final);
    expect(calls.length).toBeGreaterThan(0);
    for (const { input } of calls) expect(Object.keys(input as object).toSorted()).toEqual(['city', 'unit']);
    expect(pieces.replaceAll(' ', '')).toBe(calls.map(({ input }) => JSON.stringify(input)).join(''));
  });

  it('follow a schema exactly', async () => {
    const schema = {
      type: 'object',
      properties: { done: { type: 'boolean' } },
      required: ['done'],
      additionalProperties: false,
    };
    const message = await client.messages.create(
      ask('Are you done?', { output_config: { format: { type: 'json_schema', schema } } }),
    );
    expect(JSON.parse(textOf(message))).toEqual({ done: expect.any(Boolean) as boolean });
    const unknown = { ...schema, properties: { done: { type: 'string', pattern: '(?=a)\\1' } } };
    const refused = client.messages.create(
      ask('x', { output_config: { format: { type: 'json_schema', schema: unknown } } }),
    );
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('output_config.format') as string,
    });
  });
});
