import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import { type Transport, transportsFor } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* The official client against the real processes, on the deterministic engine. */

let platform: Platform;
let client: OpenAI;

function open(transport: Transport): void {
  beforeAll(async () => {
    const models = [{ manifest: { traits: { default: 1 }, aliases: ['org/tiny'] } }];
    platform = await startPlatform({ transport, models });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });
}

const model = 'tiny-llama';

function user(content: string): OpenAI.ChatCompletionMessageParam[] {
  return [{ role: 'user', content }];
}

describe.each(transportsFor('redis'))('the official client over %s', (transport) => {
  open(transport);

  it('chats', async () => {
    const { data, response } = await client.chat.completions
      .create({ model, messages: user('Hello [[tokens=5]]') })
      .withResponse();
    const words = deterministicWords('user: Hello [[tokens=5]]', { count: 5 }).join('');
    expect(data.choices[0]?.message).toMatchObject({ role: 'assistant', content: words });
    expect(data.choices[0]?.finish_reason).toBe('stop');
    expect(data.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
    expect(data).toMatchObject({ object: 'chat.completion', model, cost: { usd: expect.any(Number) as number } });
    expect(response.headers.get('cf-ray')).toMatch(/^[0-9a-f]{16}-[A-Z0-9]+$/);
    expect(data.id).toBe(`chatcmpl-${response.headers.get('cf-ray')}`);
    expect(response.headers.get('x-request-id')).toBe(response.headers.get('cf-ray'));
    expect(response.headers.get('x-service-model-router')).toMatch(/^default\/\S+$/);
    expect(response.headers.get('x-service-version')).toMatch(/^\d{8}\.\d{6}$/);
    expect(response.headers.get('x-service-model-id')).toBe(model);
    const jobs = await platform.closedJobs();
    const job = jobs.find(({ request_id: id }) => id === response.headers.get('cf-ray'));
    expect(job).toMatchObject({ state: 'succeeded', prompt_tokens: 3, completion_tokens: 5 });
  });

  it('gets one model by its id, alias or trait, and an error for others', async () => {
    const entry = (await client.models.list()).data.find(({ id }) => id === model);
    expect(await client.models.retrieve(model)).toEqual(entry);
    expect(await client.models.retrieve('default')).toEqual(entry);
    expect(await client.models.retrieve('org/tiny')).toEqual(entry);
    const unencoded = await fetch(`${platform.baseUrl}/models/org/tiny`);
    expect(await unencoded.json()).toEqual(entry);
    const missing = client.models.retrieve('no/such');
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'MODEL_NOT_FOUND', param: 'model' });
  });

  it.each(['GET /fine_tuning/jobs', 'GET /files', 'POST /images/nothing', 'POST /chat/nothing', 'GET /audio/speech'])(
    'reads the error of %s',
    async (route) => {
      const [method, path] = route.split(' ') as ['GET' | 'POST', string];
      const call = method === 'GET' ? client.get(path) : client.post(path, { body: {} });
      const [status, type] = path === '/audio/speech' ? [405, 'invalid_request_error'] : [404, 'not_found_error'];
      await expect(call).rejects.toMatchObject({ status, type, error: { message: expect.any(String) as string } });
    },
  );

  it('completes a text, with the seed and the choices it asks for', async () => {
    const prompt = 'Once [[tokens=5]]';
    const { data, response } = await client.completions.create({ model, prompt, n: 2, seed: 3 }).withResponse();
    expect(data).toMatchObject({ object: 'text_completion', model, id: `cmpl-${response.headers.get('cf-ray')}` });
    expect(data.choices).toEqual(
      [0, 1].map((index) => ({
        index,
        text: deterministicWords(prompt, { seed: 3, index, count: 5 }).join(''),
        logprobs: null,
        finish_reason: 'stop',
      })),
    );
    expect(data.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 10, total_tokens: 12 });
    const job = (await platform.closedJobs()).find(({ request_id: id }) => id === response.headers.get('cf-ray'));
    expect(job).toMatchObject({ state: 'succeeded', prompt_tokens: 2, completion_tokens: 10 });
  });

  it('completes several texts and token ids, with their echo, as it streams them', async () => {
    const prompts = ['One [[tokens=3]] ', 'Two [[tokens=4]] '];
    const texts = prompts.map((text, index) => text + deterministicWords(text, { count: 3 + index }).join(''));
    const whole = await client.completions.create({ model, prompt: prompts, echo: true });
    expect(whole.choices.map(({ index, text }) => [index, text])).toEqual([...texts.entries()]);
    expect(whole.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 7 });
    const stream = await client.completions.create({
      ...{ model, prompt: prompts, echo: true, stream: true },
      stream_options: { include_usage: true },
    });
    const streamed = ['', ''];
    let usage: OpenAI.CompletionUsage | undefined;
    const ends: string[] = [];
    for await (const chunk of stream) {
      usage = chunk.usage ?? usage;
      for (const { index, text, finish_reason: reason } of chunk.choices) {
        streamed[index] += text;
        if (reason !== null) ends.push(`${index} ${reason}`);
      }
    }
    expect([streamed, ends.toSorted()]).toEqual([texts, ['0 stop', '1 stop']]);
    expect(usage).toEqual(whole.usage);
    const ids = await client.completions.create({ model, prompt: [[5, 6], [7]], echo: true, max_tokens: 1 });
    expect(ids.choices.map(({ text }) => text)).toEqual(
      ['5 6', '7'].map((text) => text + deterministicWords(text, { count: 1 }).join('')),
    );
  });

  it('gets log-probabilities of a text in their own form', async () => {
    const { choices } = await client.completions.create({ model, prompt: 'Once [[tokens=2]]', logprobs: 2 });
    const scores = choices[0]?.logprobs;
    expect(scores?.tokens?.join('')).toBe(choices[0]?.text);
    expect(scores?.token_logprobs).toEqual([-0.5, -0.5]);
    expect(scores?.text_offset).toEqual([0, scores?.tokens?.[0]?.length]);
    expect(Object.keys(scores?.top_logprobs?.[0] ?? {})).toHaveLength(2);
  });

  it('gets the first completion again for the same idempotency key, streamed or not', async () => {
    for (const stream of [false, true]) {
      const body = JSON.stringify({ model, prompt: 'Once [[tokens=3]]', stream });
      const headers = {
        ...{ authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
        'idempotency-key': `complete-once-${stream}`,
      };
      const ask = async () => await fetch(`${platform.baseUrl}/completions`, { method: 'POST', headers, body });
      const first = await (await ask()).text();
      const jobs = await platform.closedJobs();
      const second = await ask();
      expect([await second.text(), second.headers.get('idempotent-replayed')]).toEqual([first, 'true']);
      expect(await platform.closedJobs()).toHaveLength(jobs.length);
    }
  });

  it('is told by name what a completion cannot have, at no cost', async () => {
    const before = await platform.closedJobs();
    const refused = { best_of: 2, suffix: 'end', logit_bias: { 5: 101 }, max_tokens: -1, prompt: [] };
    for (const [param, value] of Object.entries(refused)) {
      const call = client.completions.create({ model, prompt: 'Once', [param]: value });
      await expect(call).rejects.toMatchObject({ status: 400, code: 'INVALID_REQUEST', param });
    }
    const long = client.completions.create({ model, prompt: ['a', 'w'.repeat(70_000)] });
    await expect(long).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'prompt[1]' });
    await expect(long).rejects.toThrow(/This model's maximum context length is 256 tokens\./);
    expect(await platform.closedJobs()).toHaveLength(before.length);
  });

  it('streams the same text, role first, usage last', async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: user('Stream [[tokens=6]]'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(text).toBe(deterministicWords('user: Stream [[tokens=6]]', { count: 6 }).join(''));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
  });

  it('gives n choices, whole and streamed', async () => {
    const request = { model, messages: user('Several [[tokens=4]]'), n: 3 };
    const whole = await client.chat.completions.create(request);
    expect(whole.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const texts = ['', '', ''];
    const reasons: (string | null)[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) {
      for (const { index, delta, finish_reason: reason } of choices) {
        texts[index] = (texts[index] ?? '') + (delta.content ?? '');
        if (reason !== null) reasons.push(reason);
      }
    }
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
    expect(reasons).toEqual(['stop', 'stop', 'stop']);
  });

  it('stops before a stop string and at the token limit', async () => {
    const echo = (content: string, more: object) =>
      client.chat.completions.create({ model, messages: user(`${content} [[echo]]`), ...more });
    const stopped = await echo('one two three four', { stop: ['three'] });
    expect(stopped.choices[0]).toMatchObject({ message: { content: 'one two ' }, finish_reason: 'stop' });
    const limited = await echo('one two three four', { max_completion_tokens: 2 });
    expect(limited.choices[0]).toMatchObject({ message: { content: 'one two' }, finish_reason: 'length' });
  });

  it('gives log-probabilities in OpenAI’s form', async () => {
    const request = { model, messages: user('Score [[tokens=3]]'), logprobs: true, top_logprobs: 2 };
    const answer = await client.chat.completions.create(request);
    const tokens = answer.choices[0]?.logprobs?.content ?? [];
    expect(tokens.map(({ token }) => token).join('')).toBe(answer.choices[0]?.message.content);
    expect(tokens.every(({ top_logprobs: alternatives }) => alternatives.length === 2)).toBe(true);
  });

  it('repeats itself with the same seed and differs with another', async () => {
    const say = async (seed: number) => {
      const answer = await client.chat.completions.create({ model, messages: user('Seed [[tokens=8]]'), seed });
      return answer.choices[0]?.message.content;
    };
    expect(await say(7)).toBe(await say(7));
    expect(await say(7)).not.toBe(await say(8));
  });

  it('lists models as OpenAI does', async () => {
    const models = await client.models.list();
    expect(models.data.map(({ id, object }) => [id, object])).toEqual([[model, 'model']]);
  });

  it('gets reasoning separately from the content, or not at all when it is stripped', async () => {
    const messages = user('Think [[tokens=4 think=2]]');
    const open = await client.chat.completions.create({ model, messages });
    expect(open.choices[0]?.message).toHaveProperty('reasoning_content', expect.any(String));
    expect(open.choices[0]?.message.content).not.toContain('think');
    const request = { model, messages, service_parameters: { strip_thinking_response: true } };
    const stripped = await client.chat.completions.create(request);
    expect(stripped.choices[0]?.message).toMatchObject({
      reasoning_content: null,
      content: open.choices[0]?.message.content,
    });
  });

  it('cancels the job when the stream is aborted', async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: user('Abort [[tokens=5000 delay=20]]'),
      stream: true,
    });
    let seen = 0;
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) seen += 1;
      if (seen === 3) break;
    }
    const job = (await platform.closedJobs()).at(-1);
    expect(job?.state).toBe('cancelled');
    expect(job?.completion_tokens).toBeGreaterThanOrEqual(3);
    expect(job?.completion_tokens).toBeLessThan(500);
  });

  it('cancels the job when a non-streaming call is aborted', async () => {
    const abort = new AbortController();
    const call = client.chat.completions.create(
      { model, messages: user('Abort whole [[tokens=5000 delay=20]]') },
      { signal: abort.signal },
    );
    const refusal = call.catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 400));
    abort.abort();
    expect(await refusal).toBeInstanceOf(OpenAI.APIUserAbortError);
    const job = (await platform.closedJobs()).at(-1);
    expect(job?.state).toBe('cancelled');
    expect(job?.completion_tokens).toBeLessThan(500);
  });
});

describe('the official client’s errors', () => {
  open('postgres');

  it('reports an invalid key', async () => {
    const last = platform.inferenceKey.endsWith('0') ? '1' : '0';
    const invalidKeyClient = new OpenAI({
      apiKey: platform.inferenceKey.slice(0, -1) + last,
      baseURL: platform.baseUrl,
      maxRetries: 0,
    });
    await expect(invalidKeyClient.chat.completions.create({ model, messages: user('Hello') })).rejects.toMatchObject({
      status: 401,
      code: 'AUTHENTICATION_FAILED',
      type: 'authentication_error',
    });
  });

  it('reports an unknown model and an invalid field', async () => {
    await expect(client.chat.completions.create({ model: 'nobody', messages: user('x') })).rejects.toMatchObject({
      status: 404,
      code: 'MODEL_NOT_FOUND',
      param: 'model',
    });
    await expect(client.chat.completions.create({ model, messages: user('x'), temperature: 3 })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_REQUEST',
      param: 'temperature',
    });
  });

  it('reports a prompt that is too long as OpenAI does, streaming or not', async () => {
    const messages = user('word '.repeat(300));
    for (const stream of [false, true]) {
      await expect(client.chat.completions.create({ model, messages, stream })).rejects.toMatchObject({
        status: 400,
        code: 'context_length_exceeded',
        param: 'messages',
        type: 'invalid_request_error',
      });
    }
  });

  it('reports a failure in the middle of a stream', async () => {
    const stream = await client.chat.completions.create({ model, messages: user('[[fail=3]]'), stream: true });
    const read = async () => {
      for await (const chunk of stream) void chunk;
    };
    await expect(read()).rejects.toMatchObject({ code: 'INFERENCE_FAILED' });
    expect((await platform.closedJobs()).at(-1)).toMatchObject({ state: 'failed', error_code: 'INFERENCE_FAILED' });
  });
});
