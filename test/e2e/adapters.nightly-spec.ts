import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextTokenizer } from '#inference';
import type { ModelManifest } from '#model-registry/manifest';
import { modelFolder } from '#model-store';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { expectedAdapterTexts, tinyAdapterFolder } from '#test/tiny-adapters';
import { copyTinyDecoder } from '#test/tiny-decoders';
import { startSluice } from './sluice-command.js';

/* A base and two LoRA adapters, added by the command line and called by the official client. */

const adapters = ['all', 'some'];
const models = ['base', ...adapters];

let home: string;
let platform: Platform;
let client: OpenAI;

/** Adds a model to the home without a database, and returns its manifest. */
async function add(...line: string[]): Promise<ModelManifest> {
  const { DATABASE_URL: _, ...rest } = process.env;
  const command = startSluice(['models', 'add', ...line, '--json'], { ...rest, SLUICE_HOME: home });
  const { code, stdout, stderr } = await command.finished;
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { manifest: ModelManifest }).manifest;
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-adapters-'));
  const source = join(home, 'source');
  await mkdir(source);
  await copyTinyDecoder('llama', source);
  const manifests = [await add(source, '--id', 'base', '--context', '256')];
  for (const id of adapters) manifests.push(await add(tinyAdapterFolder('llama', id), '--base', 'base', '--id', id));
  platform = await startPlatform({ engine: 'text', home, manifests, env: { SLUICE_PROVIDERS: 'cpu' } });
  client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: platform.baseUrl, maxRetries: 0 });
});

afterAll(async () => {
  await stopConsistently(platform);
  await rm(home, { recursive: true, force: true });
});

const questions = ['Who are you?', 'Tell me about the river, and about the old mill beside it.', 'a b c d e f g'];

function ask(model: string, content: string): Promise<OpenAI.ChatCompletion> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content }];
  return client.chat.completions.create({ model, messages, temperature: 0, seed: 1, max_completion_tokens: 24 });
}

async function stream(model: string, content: string): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content }];
  const options = { model, messages, temperature: 0, seed: 1, max_completion_tokens: 24, stream: true } as const;
  let text = '';
  for await (const chunk of await client.chat.completions.create(options)) {
    expect(chunk.model).toBe(model);
    text += chunk.choices[0]?.delta.content ?? '';
  }
  return text;
}

const textOf = (completion: OpenAI.ChatCompletion): string => completion.choices[0]?.message.content ?? '';

describe('adapters through the api', () => {
  it('are listed beside their base, and one host serves all', async () => {
    const listed = (await client.models.list()).data.map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining(models));
    expect(platform.hostPid('base')).toBeGreaterThan(0);
    expect(() => platform.hostPid('all')).toThrow();
  });

  it('complete a prompt as the reference does, all at once', async () => {
    const tokenizer = await TextTokenizer.load(modelFolder(home, 'base'));
    const known = Object.entries(await expectedAdapterTexts('llama'));
    const completed = await Promise.all(
      known.map(async ([model, [text]]) => {
        const { promptIds = [], tokens = [] } = text ?? {};
        const options = { model, prompt: [promptIds], temperature: 0, max_tokens: tokens.length };
        return [model, (await client.completions.create(options)).choices[0]?.text];
      }),
    );
    expect(completed).toEqual(known.map(([model, [text]]) => [model, tokenizer.decode(text?.tokens ?? [])]));
  });

  it('chat together as each does alone', async () => {
    const asked = models.flatMap((model) => questions.map((question) => [model, question] as const));
    const alone: string[] = [];
    for (const [model, question] of asked) alone.push(textOf(await ask(model, question)));
    const together = await Promise.all(asked.map(([model, question]) => ask(model, question)));
    expect(together.map(textOf)).toEqual(alone);
    expect(together.map(({ model }) => model)).toEqual(asked.map(([model]) => model));
    expect(await Promise.all(asked.map(([model, question]) => stream(model, question)))).toEqual(alone);
    // The weights of an adapter do something.
    const answers = questions.map((question) =>
      asked.flatMap(([, each], index) => (each === question ? alone[index] : [])),
    );
    for (const texts of answers) expect(new Set(texts).size).toBe(models.length);
  });
});
