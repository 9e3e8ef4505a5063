import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noCapabilities } from '#model-registry/manifest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/*
 * The conversation of a coding agent, replayed against the product's engine. The fixture holds the requests that a
 * widespread agent sent to a recording server: its fields, items and tools, with shorter texts. The model has random
 * weights, so the rounds name the tool to call; what the agent echoes is what the service sent.
 */

interface Session {
  request: OpenAI.Responses.ResponseCreateParamsStreaming;
  /** Members of the items that the agent sends back. */
  echoed: Record<'reasoning' | 'function_call' | 'function_call_output', string[]>;
  /** Results of its commands. */
  outputs: string[];
}

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;
type Item = Record<string, unknown>;

const session = JSON.parse(
  readFileSync(new URL('__fixtures__/coding-agent-session.json', import.meta.url), 'utf8'),
) as Session;

let platform: Platform;
let client: OpenAI;

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

async function eventsOf(changes: object): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  const body = { ...session.request, reasoning: { ...session.request.reasoning, effort: 'low' as const }, ...changes };
  for await (const event of await client.responses.create(body)) events.push(event);
  return events;
}

/** The items of the first request. */
function startOf({ request }: Session): Item[] {
  return structuredClone(request.input) as unknown as Item[];
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
    const members = session.echoed[item.type as keyof Session['echoed']];
    // The agent keeps the summary and the encrypted reasoning, and drops its text.
    return Object.fromEntries(members.map((name) => [name, name === 'content' ? null : item[name]]));
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

describe('a coding agent', () => {
  it('probes the service with an empty input', async () => {
    const { stream: _stream, tools: _tools, tool_choice: _choice, include: _include, ...rest } = session.request;
    const probe = { ...rest, stream: false as const, input: [], max_output_tokens: 1, reasoning: null };
    const response = await client.responses.create(probe);
    expect([response.object, response.usage?.output_tokens]).toEqual(['response', 1]);
  });

  it('goes through rounds of reasoning, a call and its result, with an exact sequence of events', async () => {
    const input = startOf(session);
    let sent = 0;
    for (const output of session.outputs) {
      const events = await eventsOf({
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
    const events = await eventsOf({ input, tool_choice: 'none', max_output_tokens: 30 });
    expect(sequenceOf(events)).toEqual([...opened, ...reasoning, ...message, 'incomplete']);
    expect(finalOf(events).incomplete_details).toEqual({ reason: 'max_output_tokens' });
    expect(finalOf(events).usage?.input_tokens).toBeGreaterThan(0);
  });

  it('gets its functions back, and a warning for each tool that is skipped', async () => {
    const response = finalOf(await eventsOf({ tool_choice: 'none', max_output_tokens: 12 }));
    const { warnings, tools } = response as unknown as { warnings: { param: string; code: string }[]; tools: Item[] };
    const given = session.request.tools ?? [];
    const isFunction = ({ type }: { type: string }) => type === 'function';
    expect(tools).toEqual(given.filter(isFunction));
    const skipped = given.flatMap((tool, index) => (isFunction(tool) ? [] : [`tools[${index}]`]));
    expect(skipped.length).toBe(2);
    expect(warnings.map(({ param }) => param)).toEqual(skipped);
    expect(response.instructions).toBeNull();
    expect(response.prompt_cache_key).toBe(session.request.prompt_cache_key);
  });

  it('may send its rules as instructions instead', async () => {
    const input = startOf(session).slice(1);
    const response = finalOf(
      await eventsOf({ input, instructions: 'You are a coding agent.', tool_choice: 'none', max_output_tokens: 12 }),
    );
    expect(response.instructions).toBe('You are a coding agent.');
  });

  it('is refused the reasoning of another service by its field', async () => {
    const foreign = { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'gAAAAABo' };
    const input = [...startOf(session), foreign];
    await expect(eventsOf({ input })).rejects.toMatchObject({
      status: 400,
      param: `input[${input.length - 1}].encrypted_content`,
    });
  });
});
