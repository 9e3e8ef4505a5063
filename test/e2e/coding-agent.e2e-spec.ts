import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noCapabilities } from '#model-registry/manifest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/*
 * The conversation of a coding agent, replayed. The fixture holds the requests that a widespread agent sent while it
 * worked with this service: its fields, items and tools, with shorter texts. What it read, ran and edited told the
 * deterministic engine what to write next.
 */

interface Session {
  /** The fields of all requests. */
  request: OpenAI.Responses.ResponseCreateParamsStreaming;
  /** The items that each request adds to those before, and the fields that it changes. */
  turns: { added: Item[]; changes?: object }[];
}

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;
type Item = Record<string, unknown>;

const session = JSON.parse(
  readFileSync(new URL('__fixtures__/coding-agent-session.json', import.meta.url), 'utf8'),
) as Session;

const isOutput = ({ type, role }: Item) =>
  type === 'reasoning' || type === 'function_call' || type === 'custom_tool_call' || role === 'assistant';

let platform: Platform;
let client: OpenAI;

/** The events of a request of the agent. */
async function eventsOf(changes: object): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  const body = { ...session.request, input: start() as unknown as OpenAI.Responses.ResponseInput, ...changes };
  for await (const event of await client.responses.create(body)) events.push(event);
  return events;
}

/** The items of the first request. */
function start(): Item[] {
  return structuredClone(session.turns[0]?.added ?? []);
}

/** The members that the agent keeps of items of a type, or sends with them. */
function membersOf(type: unknown): string[] {
  const item = session.turns.flatMap(({ added }) => added).find((each) => each.type === type && 'id' in each);
  return Object.keys(item ?? {});
}

/** Types without repeated deltas. */
function sequenceOf(events: StreamEvent[]): string[] {
  const types = events.map(({ type }) => type.replace('response.', ''));
  return types.filter((type, index) => !(type.endsWith('.delta') && types[index - 1] === type));
}

function finalOf(events: StreamEvent[]): OpenAI.Responses.Response {
  const last = events.at(-1);
  if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') throw new Error('no last event');
  return last.response;
}

/** What the agent sends back of a response, and the result of the call. */
function echo(response: OpenAI.Responses.Response, output: string): Item[] {
  const items = response.output as unknown as Item[];
  const call = items.find(({ type }) => type === 'function_call');
  const result: Item = { type: 'function_call_output', id: `fco_${String(call?.id)}`, call_id: call?.call_id, output };
  return [...items, result].map((item) => {
    // The agent keeps the summary and the encrypted reasoning, and drops its text.
    return Object.fromEntries(membersOf(item.type).map((name) => [name, name === 'content' ? null : item[name]]));
  });
}

const opened = ['created', 'in_progress'];
const reasoning = [
  'output_item.added',
  'reasoning_summary_part.added',
  'reasoning_summary_text.delta',
  'reasoning_summary_text.done',
  'reasoning_summary_part.done',
  'output_item.done',
];
const functionCall = [
  'output_item.added',
  'function_call_arguments.delta',
  'function_call_arguments.done',
  'output_item.done',
];
const message = [
  'output_item.added',
  'content_part.added',
  'output_text.delta',
  'output_text.done',
  'content_part.done',
  'output_item.done',
];

describe('a recorded conversation of a coding agent', () => {
  const model = 'tiny-llama';

  beforeAll(async () => {
    const capabilities = { ...noCapabilities, supportsReasoning: true };
    const manifest = { capabilities };
    platform = await startPlatform({ models: [{ contextLength: 16_384, manifest }] });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  /** Members whose values differ between two runs. */
  const drawn = ['id', 'call_id', 'encrypted_content'];

  /** An item that the agent sent back, as this service sent it now. */
  function renew(recorded: Item, sent: Item | undefined): Item {
    const renewed = Object.keys(recorded).map((name) => [name, name in (sent ?? {}) ? sent?.[name] : recorded[name]]);
    return Object.fromEntries(renewed) as Item;
  }

  it('goes the same way: edits, commands, functions of namespaces, and a summary', async () => {
    const input: Item[] = [];
    const calls = new Map<unknown, unknown>();
    let output: Item[] = [];
    for (const { added, changes } of session.turns) {
      // What the agent sends back is what the service sent last time.
      const recorded = added.filter(isOutput);
      expect(output.map(({ type }) => type)).toEqual(recorded.map(({ type }) => type));
      const sent = recorded.map((item, index) => renew(item, output[index]));
      const fixed = (item: Item) => Object.fromEntries(Object.entries(item).filter(([name]) => !drawn.includes(name)));
      expect(sent.map(fixed)).toEqual(recorded.map(fixed));
      for (const [index, { call_id: id }] of recorded.entries()) if (id) calls.set(id, sent[index]?.call_id);
      for (const item of added) {
        const place = recorded.indexOf(item);
        if (place >= 0) input.push(sent[place] ?? item);
        else input.push('call_id' in item ? { ...item, call_id: calls.get(item.call_id) } : item);
      }
      const events = await eventsOf({ model, input, ...changes });
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      const response = finalOf(events);
      output = response.output as unknown as Item[];
      const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
      expect(done).toEqual(response.output);
    }
    expect(output).toMatchObject([{ type: 'message', status: 'completed' }]);
    const patch = input.find(({ type }) => type === 'custom_tool_call');
    expect(patch).toMatchObject({
      name: 'apply_patch',
      input: expect.stringMatching(/^\*\*\* Begin Patch\n/) as string,
    });
    expect(input.find(({ namespace }) => namespace)).toMatchObject({
      namespace: 'multi_agent_v1',
      name: 'close_agent',
    });
  });

  it('streams the input of a custom tool as text', async () => {
    const written = '+a "b"\n';
    const call = JSON.stringify({ name: 'apply_patch', arguments: { input: written } });
    const message = { role: 'user', content: `[[echo]]<tool_call>${call}</tool_call>` };
    const events = await eventsOf({ model, input: [...start(), message] });
    expect(sequenceOf(events)).toEqual([
      ...opened,
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
    const deltas = events.flatMap((event) =>
      event.type === 'response.custom_tool_call_input.delta' ? [event.delta] : [],
    );
    expect(deltas.join('')).toBe(written);
  });
});

describe('a coding agent with a model that reasons', () => {
  beforeAll(async () => {
    const capabilities = {
      ...noCapabilities,
      supportsReasoning: true,
      supportsReasoningEffort: true,
      reasoningEffortOptions: ['none', 'low', 'high'],
    };
    const chatTemplate =
      "{% for m in messages %}{{ m.reasoning_content | default('') }}{{ m.content }}{% endfor %}" +
      '{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}';
    const manifest = { capabilities, reasoning: { budgets: { low: 6, high: 12 } } };
    const thinker = { id: 'tiny-thinker', contextLength: 16_384, chatTemplate, manifest };
    platform = await startPlatform({ engine: 'text', models: [thinker] });
    client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
  });
  afterAll(async () => {
    await stopConsistently(platform);
  });

  const model = 'tiny-thinker';
  const ask = (changes: object) =>
    eventsOf({ model, reasoning: { ...session.request.reasoning, effort: 'low' }, ...changes });

  it('probes the service with an empty input', async () => {
    const { stream: _stream, tools: _tools, tool_choice: _choice, include: _include, ...rest } = session.request;
    const probe = { ...rest, model, stream: false as const, input: [], max_output_tokens: 1, reasoning: null };
    const response = await client.responses.create(probe);
    expect([response.object, response.usage?.output_tokens]).toEqual(['response', 1]);
  });

  it('goes through rounds of reasoning, a call and its result, with an exact sequence of events', async () => {
    const input = start();
    let sent = 0;
    for (const output of ['Process exited with code 0\nOutput:\none\n', '']) {
      const events = await ask({
        input,
        tool_choice: { type: 'function', name: 'get_goal' },
        parallel_tool_calls: false,
      });
      expect(sequenceOf(events)).toEqual([...opened, ...reasoning, ...functionCall, 'completed']);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      const response = finalOf(events);
      expect(response.output).toMatchObject([
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text' }],
          encrypted_content: expect.stringMatching(/^[\w-]{40,}$/) as string,
        },
        {
          type: 'function_call',
          name: 'get_goal',
          arguments: expect.stringMatching(/^\{\s*\}$/) as string,
          status: 'completed',
        },
      ]);
      const indexes = events.flatMap((event) => ('output_index' in event ? [event.output_index] : []));
      expect(indexes).toEqual(indexes.toSorted((left, right) => left - right));
      // Every round reads all earlier items.
      expect(response.usage?.input_tokens).toBeGreaterThan(sent);
      sent = response.usage?.input_tokens ?? 0;
      input.push(...echo(response, output));
    }
    const events = await ask({ input, tool_choice: 'none', max_output_tokens: 30 });
    expect(sequenceOf(events)).toEqual([...opened, ...reasoning, ...message, 'incomplete']);
    expect(finalOf(events).incomplete_details).toEqual({ reason: 'max_output_tokens' });
    expect(finalOf(events).usage?.input_tokens).toBeGreaterThan(0);
  });

  it('gets its tools back, and a warning for each that is skipped', async () => {
    const response = finalOf(await ask({ tool_choice: 'none', max_output_tokens: 12 }));
    const { warnings, tools } = response as unknown as { warnings: { param: string; code: string }[]; tools: Item[] };
    const given = (session.request.tools ?? []) as unknown as Item[];
    expect(tools).toEqual(given.filter(({ type }) => type !== 'web_search'));
    expect(warnings.map(({ code, param }) => [code, param])).toEqual([
      // No provider of searches is configured, and the agent names the tool in every request.
      ['tool_skipped', 'tools[9]'],
    ]);
    const calls = ['apply_patch', 'multi_agent_v1'];
    expect(tools.flatMap(({ name }) => (calls.includes(String(name)) ? [name] : []))).toEqual(calls);
    expect(response.instructions).toBeNull();
    expect(response.prompt_cache_key).toBe(session.request.prompt_cache_key);
  });

  it('may send its rules as instructions instead', async () => {
    const input = start().slice(1);
    const response = finalOf(
      await ask({ input, instructions: 'You are a coding agent.', tool_choice: 'none', max_output_tokens: 12 }),
    );
    expect(response.instructions).toBe('You are a coding agent.');
  });

  it('is refused the reasoning of another service by its field', async () => {
    const foreign = { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'gAAAAABo' };
    const input = [...start(), foreign];
    await expect(ask({ input })).rejects.toMatchObject({
      status: 400,
      param: `input[${input.length - 1}].encrypted_content`,
    });
  });
});
