import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyModel } from '#test/tiny-models';

/* Text completions on the product's engine: token ids, several prompts, log-probabilities, money. */

const model = 'tiny-llama';
const price = { usd: 1, diem: 1 };

let home: string;
let platform: Platform;
let client: OpenAI;
let idOf: (token: string) => number;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifest = await installTinyModel(home, { manifest: { pricing: { input: price, output: price } } });
  const path = join(home, 'models', model, 'tokenizer.json');
  const { model: bpe } = JSON.parse(await readFile(path, 'utf8')) as { model: { vocab: Record<string, number> } };
  idOf = (token) => bpe.vocab[token] ?? -1;
  platform = await startPlatform({ engine: 'text', home, manifests: [manifest] });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

describe('a text completion', () => {
  it('continues token ids, which it echoes as their text', async () => {
    const prompt = ['r', 'i', 'v', 'e', 'r'].map(idOf);
    const { choices, usage } = await client.completions.create({ model, prompt, echo: true, max_tokens: 4, seed: 7 });
    expect(choices[0]?.text.startsWith('river')).toBe(true);
    expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 4 });
  });

  it('continues each text as if it were alone, and pays for all of them once', async () => {
    const prompt = ['the river', 'a boat', 'the river'];
    const options = { model, max_tokens: 5, seed: 7, n: 2 };
    const together = await client.completions.create({ ...options, prompt });
    const [alone, other] = await Promise.all(
      prompt.slice(0, 2).map(async (each) => await client.completions.create({ ...options, prompt: each })),
    );
    const texts = together.choices.map(({ text }) => text);
    const expected = [alone, other, alone].flatMap((each) => each?.choices.map(({ text }) => text) ?? []);
    expect([texts, together.choices.map(({ index }) => index)]).toEqual([expected, [0, 1, 2, 3, 4, 5]]);
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = together.usage ?? {};
    expect([input, output]).toEqual([2 * (alone?.usage?.prompt_tokens ?? 0) + (other?.usage?.prompt_tokens ?? 0), 30]);
    const id = together.id.replace('cmpl-', '');
    await platform.closedJobs();
    const rows = await platform.query<{ charged_nano: string }>(
      `SELECT charged_nano FROM holds WHERE request_id = '${id}'`,
    );
    // One dollar per million tokens; cached ones cost the same here.
    expect(rows.map(({ charged_nano: nano }) => nano)).toEqual([String((input + output) * 1_000)]);
  });

  it('tells where each token begins', async () => {
    const { choices } = await client.completions.create({ model, prompt: 'the', logprobs: 2, max_tokens: 6, seed: 3 });
    const { text, logprobs } = choices[0] ?? { text: '' };
    expect(logprobs?.tokens).toHaveLength(6);
    expect(logprobs?.token_logprobs?.every((score) => score <= 0)).toBe(true);
    for (const [index, offset] of (logprobs?.text_offset ?? []).entries()) {
      const token = logprobs?.tokens?.[index] ?? '';
      if (!token.startsWith('bytes:')) expect([...text].slice(offset).join('').startsWith(token)).toBe(true);
    }
  });

  it('returns the log-probabilities of prompts, as evaluation tools ask for them', async () => {
    const options = { model, echo: true, logprobs: 2, temperature: 0 };
    const texts = ['the river', 'a boat on the river'];
    const scored = await client.completions.create({ ...options, prompt: texts, max_tokens: 0 });
    expect(scored.choices.map(({ text, finish_reason: reason }) => [text, reason])).toEqual(
      texts.map((text) => [text, 'length']),
    );
    for (const { text, logprobs } of scored.choices) {
      const {
        tokens = [],
        token_logprobs: scores = [],
        top_logprobs: top = [],
        text_offset: offsets = [],
      } = logprobs ?? {};
      expect([scores[0], top[0], offsets[0]]).toEqual([null, null, 0]);
      expect(new Set([tokens.length, scores.length, top.length, offsets.length])).toEqual(new Set([tokens.length]));
      for (const [index, token] of tokens.entries()) {
        if (index === 0) continue;
        expect(scores[index]).toBeLessThan(0);
        expect(Math.max(...Object.values(top[index] ?? {}))).toBeGreaterThanOrEqual(scores[index] ?? 0);
        const rest = text.slice(offsets[index]);
        // The space that tokenizers put before a text is no part of it.
        expect(rest.startsWith(token) || rest.startsWith(token.slice(1))).toBe(true);
      }
    }
    expect(scored.usage).toMatchObject({ completion_tokens: 0 });
    const [first] = scored.choices;
    const ids = ['r', 'i', 'v', 'e', 'r'].map(idOf);
    const one = await client.completions.create({ ...options, prompt: [ids, ids], max_tokens: 1 });
    expect(one.choices.map(({ logprobs }) => logprobs?.tokens?.slice(0, 5).join(''))).toEqual(['river', 'river']);
    const { token_logprobs: scores, tokens } = one.choices[0]?.logprobs ?? {};
    expect([scores?.length, scores?.[0], tokens?.length]).toEqual([6, null, 6]);
    // The generated token has the score that it has as a part of a prompt.
    const last = idOf(tokens?.at(-1) ?? '');
    if (last > 0) {
      const again = await client.completions.create({ ...options, prompt: [...ids, last], max_tokens: 0 });
      expect(again.choices[0]?.logprobs?.token_logprobs?.at(-1)).toBeCloseTo(scores?.at(-1) ?? 0, 3);
    }
    const chunks = await client.completions.create({ ...options, prompt: texts[0] ?? '', max_tokens: 0, stream: true });
    let [text, streamed] = ['', [] as (number | null)[]];
    for await (const { choices } of chunks) {
      text += choices[0]?.text ?? '';
      streamed = [...streamed, ...(choices[0]?.logprobs?.token_logprobs ?? [])];
    }
    expect([text, streamed]).toEqual([texts[0], first?.logprobs?.token_logprobs]);
    await platform.closedJobs();
    const id = scored.id.replace('cmpl-', '');
    const [row] = await platform.query<{ charged_nano: string }>(
      `SELECT charged_nano FROM holds WHERE request_id = '${id}'`,
    );
    expect(row?.charged_nano).toBe(String((scored.usage?.prompt_tokens ?? 0) * 1_000));
  });

  it('follows a bias: 100 selects a token, −100 leaves it out, and log-probabilities stay those of the model', async () => {
    const messages = [{ role: 'user', content: 'the river' }] as const;
    const chat = async (logit_bias: Record<string, number>) => {
      const options = { model, messages: [...messages], temperature: 0, max_tokens: 4, logprobs: true, logit_bias };
      const { choices } = await client.chat.completions.create(options);
      return choices[0]?.logprobs?.content ?? [];
    };
    const [free, selected] = [await chat({}), await chat({ [idOf('q')]: 100 })];
    expect(selected.map(({ token }) => token)).toEqual(['q', 'q', 'q', 'q']);
    const { logprob = 0 } = selected[0] ?? {};
    expect(logprob).toBeLessThan(free[0]?.logprob ?? -Infinity);
    const complete = async (logit_bias: Record<string, number>) => {
      const options = { model, prompt: 'the river', temperature: 0, max_tokens: 4, logprobs: 0, logit_bias };
      return (await client.completions.create(options)).choices[0]?.logprobs?.tokens ?? [];
    };
    const [first = ''] = await complete({});
    expect(idOf(first)).toBeGreaterThan(0);
    expect(await complete({ [idOf(first)]: -100 })).not.toContain(first);
    const unknown = client.completions.create({ model, prompt: 'the', logit_bias: { 999_999: 1 } });
    await expect(unknown).rejects.toMatchObject({ status: 400, param: 'logit_bias.999999' });
  });

  it('is refused by the prompt that is wrong, and costs nothing', async () => {
    const prompts: [string, OpenAI.CompletionCreateParams['prompt'], string][] = [
      ['prompt', [idOf('a'), 999_999], 'INVALID_REQUEST'],
      ['prompt[1]', [[idOf('a')], [999_999]], 'INVALID_REQUEST'],
      ['prompt[1]', ['a', 'x y '.repeat(300)], 'context_length_exceeded'],
    ];
    for (const [param, prompt, code] of prompts) {
      const call = client.completions.create({ model, prompt });
      await expect(call).rejects.toMatchObject({ status: 400, code, param });
    }
    await platform.closedJobs();
    const failed = await platform.query<{ charged_nano: string | null }>(
      `SELECT charged_nano FROM jobs LEFT JOIN holds USING (request_id) WHERE jobs.state = 'failed'`,
    );
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.filter(({ charged_nano: nano }) => nano !== null && nano !== '0')).toEqual([]);
  });
});
