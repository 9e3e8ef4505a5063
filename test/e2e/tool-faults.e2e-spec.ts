import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* A model host that dies while it writes a tool call, on the product's engine with a tiny model of random weights. */

const model = 'tiny-llama';
const parameters = {
  type: 'object',
  properties: { text: { type: 'string', minLength: 1_500, maxLength: 1_500, pattern: '^[a-z ]*$' } },
  required: ['text'],
  additionalProperties: false,
};

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  platform = await startPlatform({ engine: 'text', models: [{ contextLength: 4_096 }] });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  await stopConsistently(platform);
});

/** Kills the host once a call is being written; returns the text of its arguments and the error that ends it. */
async function lostCall(fragments: AsyncIterable<string>): Promise<{ text: string; error: unknown }> {
  let text = '';
  try {
    for await (const fragment of fragments) {
      if (text === '') process.kill(platform.hostPid(model), 'SIGKILL');
      text += fragment;
    }
  } catch (error) {
    return { text, error };
  }
  return { text, error: null };
}

async function* chatFragments(): AsyncGenerator<string> {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'the river' }],
    tools: [{ type: 'function', function: { name: 'write', parameters } }],
    tool_choice: 'required',
    stream: true,
  });
  for await (const { choices } of stream) {
    for (const { function: called } of choices[0]?.delta.tool_calls ?? []) {
      if (called?.arguments) yield called.arguments;
    }
  }
}

async function* responseFragments(): AsyncGenerator<string> {
  const stream = await client.responses.create({
    model,
    input: 'the river',
    tools: [{ type: 'function', name: 'write', parameters, strict: true }],
    tool_choice: 'required',
    stream: true,
  });
  for await (const event of stream) if (event.type === 'response.function_call_arguments.delta') yield event.delta;
}

describe('a tool call whose host dies', () => {
  it.each<[string, () => AsyncIterable<string>]>([
    ['chat completions', chatFragments],
    ['responses', responseFragments],
  ])('ends the stream of %s with the documented error, and costs nothing', async (_name, fragments) => {
    const balance = () => platform.query('SELECT usd_nano, usd_held_nano FROM balances');
    await platform.closedJobs();
    const before = await balance();
    const { text, error } = await lostCall(fragments());
    expect(error).toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(text).toMatch(/^\{/);
    expect(() => JSON.parse(text) as unknown).toThrow();
    const job = (await platform.closedJobs()).at(-1);
    expect(job).toMatchObject({ state: 'failed', error_code: 'DEVICE_LOST' });
    expect(await balance()).toEqual(before);
    await platform.untilOnline();
    const whole = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'the river' }],
      tools: [{ type: 'function', function: { name: 'now' } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls');
  });
});
