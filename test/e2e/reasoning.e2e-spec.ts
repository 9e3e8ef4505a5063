import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noCapabilities } from '#model-registry/manifest';
import { type Platform, startPlatform } from '#test/platform';

/* Reasoning by the official client, on the product's engine with a tiny model of random weights. */

const model = 'tiny-thinker';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'the river' }];
const chatTemplate =
  "{% for m in messages %}{{ m.reasoning_content | default('') }}{{ m.content }}{% endfor %}" +
  '{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}';

interface ReasoningMessage {
  content: string | null;
  reasoning_content: string | null;
  reasoning: string | null;
  reasoning_details?: { type: string; text: string; format: string; index: number }[];
}

let platform: Platform;
let client: OpenAI;

beforeAll(async () => {
  const capabilities = {
    ...noCapabilities,
    supportsReasoning: true,
    supportsReasoningEffort: true,
    reasoningEffortOptions: ['none', 'low', 'high'],
  };
  const manifest = { capabilities, reasoning: { budgets: { low: 4, high: 12 } } };
  const tiny = { id: model, chatTemplate, manifest };
  platform = await startPlatform({ engine: 'text', models: [tiny, { id: 'tiny-llama' }] });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  await platform.stop();
});

async function ask(more: object): Promise<OpenAI.ChatCompletion & { messages: ReasoningMessage[] }> {
  const body = { model, messages, seed: 5, max_completion_tokens: 40, reasoning_effort: 'low', ...more };
  const answer = await client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming);
  const found = answer.choices.map(({ message }) => message as unknown as ReasoningMessage);
  return Object.assign(answer, { messages: found });
}

const reasoningTokens = ({ usage }: OpenAI.ChatCompletion) => usage?.completion_tokens_details?.reasoning_tokens ?? 0;

describe('reasoning', () => {
  it('comes apart from the answer under each name, bounded by the effort and counted in every choice', async () => {
    const [low, high] = await Promise.all([ask({ n: 2 }), ask({ reasoning_effort: 'high', n: 2 })]);
    for (const { content, reasoning_content: reasoning, ...names } of [...low.messages, ...high.messages]) {
      expect(reasoning).toEqual(expect.stringMatching(/./));
      expect(names.reasoning).toBe(reasoning);
      expect(names.reasoning_details).toEqual([
        { type: 'reasoning.text', text: reasoning, format: 'unknown', index: 0 },
      ]);
      expect(content).not.toContain('think>');
    }
    // The budget of each choice, and the delimiter.
    expect(reasoningTokens(low)).toBeGreaterThanOrEqual(2 * 5);
    expect(reasoningTokens(high)).toBe(reasoningTokens(low) + 2 * 8);
    expect(low.usage?.completion_tokens).toBeGreaterThan(reasoningTokens(low));
  });

  it('streams the same, before the answer', async () => {
    const whole = await ask({});
    const body = { model, messages, seed: 5, max_completion_tokens: 40, reasoning_effort: 'low' as const };
    const stream = await client.chat.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    const joined = { content: '', reasoning_content: '', reasoning: '', details: '' };
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      usage = chunk.usage;
      const delta = (chunk.choices[0]?.delta ?? {}) as Partial<ReasoningMessage>;
      if (delta.reasoning_content) expect(joined.content).toBe('');
      joined.content += delta.content ?? '';
      joined.reasoning_content += delta.reasoning_content ?? '';
      joined.reasoning += delta.reasoning ?? '';
      joined.details += (delta.reasoning_details ?? []).map(({ text }) => text).join('');
    }
    const { content, reasoning } = whole.messages[0] ?? {};
    expect(joined).toEqual({ content, reasoning_content: reasoning, reasoning, details: reasoning });
    expect(usage?.completion_tokens_details).toEqual(whole.usage?.completion_tokens_details);
  });

  it.each([false, true])('precedes a document of a schema (stream: %s)', async (stream) => {
    const body = {
      model,
      messages,
      reasoning_effort: 'low' as const,
      max_completion_tokens: 120,
      response_format: {
        type: 'json_schema' as const,
        json_schema: {
          name: 'pet',
          schema: {
            type: 'object',
            properties: { a: { enum: ['<think>', 'cat'] } },
            required: ['a'],
            additionalProperties: false,
          },
        },
      },
    };
    const answer = stream
      ? await client.chat.completions.stream({ ...body, stream }).finalChatCompletion()
      : await client.chat.completions.create(body);
    const { message, finish_reason: reason } = answer.choices[0] ?? {};
    expect(reason).toBe('stop');
    expect(['<think>', 'cat']).toContain((JSON.parse(message?.content ?? '') as { a: string }).a);
    expect(message).toHaveProperty('reasoning', expect.stringMatching(/./));
  });

  it('is left out where it is stripped or switched off, and charged where it was written', async () => {
    const stripped = await ask({ service_parameters: { strip_thinking_response: true } });
    expect(stripped.messages[0]).toMatchObject({ reasoning_content: null, reasoning: null });
    expect(reasoningTokens(stripped)).toBeGreaterThanOrEqual(5);
    for (const off of [
      { reasoning: { enabled: false } },
      { reasoning_effort: 'none' },
      { service_parameters: { disable_thinking: true } },
    ]) {
      const answer = await ask(off);
      expect(answer.messages[0]).toMatchObject({ reasoning_content: null, reasoning: null });
      expect([off, reasoningTokens(answer)]).toEqual([off, 0]);
    }
  });

  it('reaches the template again when the client echoes the message, under each name', async () => {
    const text = 'of the stones';
    const echoes = [
      { reasoning_content: text },
      { reasoning: text },
      { reasoning_details: [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }] },
      {},
    ];
    const answers = await Promise.all(
      echoes.map((echo) => ask({ messages: [...messages, { role: 'assistant', content: 'A', ...echo }, ...messages] })),
    );
    const prompts = answers.map(({ usage }) => usage?.prompt_tokens ?? 0);
    expect(new Set(prompts.slice(0, 3)).size).toBe(1);
    expect(prompts[0]).toBeGreaterThan(prompts[3] ?? 0);
  });

  it.each([
    ['an effort that the model lacks', { reasoning_effort: 'medium' }, 'reasoning_effort'],
    ['an effort of a model without any', { model: 'tiny-llama', reasoning_effort: 'low' }, 'reasoning_effort'],
    ['a summary', { reasoning: { summary: 'concise' } }, 'reasoning.summary'],
  ])('refuses %s by its field', async (_name, more, param) => {
    await expect(ask(more)).rejects.toMatchObject({ status: 400, param });
  });
});
