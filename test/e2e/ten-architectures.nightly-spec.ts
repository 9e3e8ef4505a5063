import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TextTokenizer } from '#inference';
import { modelFolder } from '#model-store';
import { freePort } from '#test/free-port';
import { LocalRun, project } from '#test/local-run';
import { copyTinyDecoder, expectedTexts } from '#test/tiny-decoders';

/*
 * Ten models of ten architectures, as an operator adds them to a running `npm start`: six GGUF files and four folders of
 * safetensors, each by one command, and then called by the official client all at once.
 */

const files = ['llama', 'qwen2', 'phi4-mini', 'gemma2', 'command-r', 'qwen3-moe'];
const folders = ['mixtral', 'olmo2', 'glm4', 'gpt-oss'];
const models = [...files, ...folders];

const fixtures = join(project, 'libs/inference/src/families/decoder/__fixtures__/architectures');

interface Known {
  promptIds: number[];
  tokens: number[];
}

let folder: string;
let run: LocalRun;
let client: OpenAI;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ten-architectures-'));
  const port = await freePort();
  run = new LocalRun(join(folder, 'home'), { PORT: String(port) });
  await run.says('Sluice is ready');
  client = new OpenAI({
    apiKey: await run.inferenceKey(),
    baseURL: `http://127.0.0.1:${port}/api/v1`,
    maxRetries: 0,
  });
});

afterAll(async () => {
  await run.stop('SIGTERM');
  await rm(folder, { recursive: true, force: true });
});

async function sourceOf(model: string): Promise<string> {
  const path = join(folder, folders.includes(model) ? model : `${model}.gguf`);
  if (!folders.includes(model)) await copyFile(join(fixtures, `${model}.gguf`), path);
  else {
    await mkdir(path);
    await copyTinyDecoder(model, path);
  }
  return path;
}

/** What the reference computes, for each of the models. */
async function knownTexts(model: string): Promise<Known[]> {
  if (folders.includes(model)) {
    return (await expectedTexts(model)).map(({ ids, greedy }) => ({ promptIds: ids, tokens: greedy }));
  }
  const all = JSON.parse(readFileSync(join(fixtures, 'expected.json'), 'utf8')) as Record<string, { texts: Known[] }>;
  return all[model]?.texts ?? [];
}

const questions = ['Who are you?', 'Tell me about the river, and about the old mill beside it.', 'a b c d e f g'];

interface Asked {
  model: string;
  question: string;
}

const optionsOf = ({ model, question }: Asked) => ({
  model,
  messages: [{ role: 'user' as const, content: question }],
  temperature: 0,
  max_completion_tokens: 16,
});

async function ask(asked: Asked): Promise<string> {
  return (await client.chat.completions.create(optionsOf(asked))).choices[0]?.message.content ?? '';
}

async function stream(asked: Asked): Promise<string> {
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...optionsOf(asked), stream: true })) {
    expect(chunk.model).toBe(asked.model);
    text += chunk.choices[0]?.delta.content ?? '';
  }
  return text;
}

describe('ten models of ten architectures', () => {
  it('are each served after one command', async () => {
    for (const model of models) {
      const { stdout } = await run.sluice('models', 'add', await sourceOf(model), '--weights', 'float32');
      expect(stdout).toContain(`${model}: serving`);
    }
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(expect.arrayContaining(models));
  });

  it('complete prompts as the reference does, all at once', async () => {
    const texts = await Promise.all(
      models.map(async (model) => {
        const tokenizer = await TextTokenizer.load(modelFolder(run.home, model));
        return (await knownTexts(model)).map(({ promptIds, tokens }) => {
          return { model, prompt: promptIds, count: tokens.length, text: tokenizer.decode(tokens) };
        });
      }),
    );
    const known = texts.flat();
    expect(new Set(known.map(({ model }) => model)).size).toBe(10);
    const completed = await Promise.all(
      known.map(async ({ model, prompt, count }) => {
        const options = { model, prompt: [prompt], temperature: 0, max_tokens: count };
        return (await client.completions.create(options)).choices[0]?.text;
      }),
    );
    expect(completed).toEqual(known.map(({ text }) => text));
  });

  it('chat in a mixed batch as each does alone, streamed or whole', async () => {
    const asked = models.flatMap((model) => questions.map((question) => ({ model, question })));
    const alone: string[] = [];
    for (const each of asked) alone.push(await ask(each));
    const together = await Promise.all(asked.map((each, index) => (index % 2 === 0 ? ask(each) : stream(each))));
    expect(together).toEqual(alone);
    expect(alone.filter((text) => text.length > 0).length).toBeGreaterThan(20);
  });
});
