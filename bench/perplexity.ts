import { mkdir, mkdtemp, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { cutWindows, openDecoder, openGraph, tokenLosses } from '#inference';
import { convertModel } from '#model-store';
import { difference, mean, tokenize } from './perplexity/losses.js';
import { benchOptions } from './settings.js';

interface Settings {
  models: string[];
  texts: string[];
  /** Windows decoded in parallel. */
  rows: number;
  /** Tokens per window, and how many of them are only context. */
  window: number;
  warmup: number;
  batches: number;
  threads: number;
}

interface ModelResult {
  name: string;
  bytes: number;
  /** Negative natural-log probability of each scored token. */
  losses: Float64Array;
  seconds: number;
}

async function main(): Promise<void> {
  const settings = readSettings();
  const results: ModelResult[] = [];
  for (const model of settings.models) {
    await withFolder(model, async (folder) => {
      const windows = windowsOf(await tokenize(folder, settings.texts), settings);
      results.push({ ...(await measure(folder, windows, settings)), name: basename(model) });
    });
    print(results, settings);
  }
}

/** The folder itself, or a converted GGUF file: `<path>.gguf[:<weights>[:<block size>]]`. */
async function withFolder(model: string, use: (folder: string) => Promise<void>): Promise<void> {
  const [, path, weights, blockSize] = /^(.+\.gguf)(?::([a-z0-9-]+)(?::(\d+))?)?$/.exec(model) ?? [];
  if (path === undefined) return use(model);
  const root = await mkdtemp(join(tmpdir(), 'perplexity-'));
  try {
    const [inputFolder, outputFolder] = [join(root, 'file'), join(root, 'model')];
    for (const folder of [inputFolder, outputFolder]) await mkdir(folder);
    await symlink(resolve(path), join(inputFolder, 'model.gguf'));
    const options = { ...(weights && { weights }), ...(blockSize && { blockSize: Number(blockSize) }) };
    await convertModel({ kind: 'gguf', options, inputFolder, outputFolder });
    await use(outputFolder);
  } finally {
    await rm(root, { recursive: true });
  }
}

function readSettings(): Settings {
  const {
    model: models,
    text: texts,
    ...settings
  } = benchOptions(
    `npm run bench -- perplexity --text chapter_1.json --text chapter_2.json --model <reference> --model <other>

Perplexity of installed models on a text, teacher-forced through the engine's own decoder and graph: what a change of
the number format costs. Every model reads the same tokens, so their losses are compared token by token. Differences are
against the first model. The models need one tokenizer.`,
    {
      model: {
        value: 'DIR',
        about: 'folder of an installed model, or FILE.gguf[:WEIGHTS[:BLOCKSIZE]], converted first',
        isRepeated: true,
      },
      text: { value: 'FILE', about: 'text file; of a .json file its member `text`', isRepeated: true },
      rows: { value: 'N', about: 'windows decoded in parallel', default: 16 },
      window: { value: 'N', about: 'tokens per window', default: 256 },
      warmup: { value: 'N', about: 'tokens per window that are only context', default: 64 },
      batches: { value: 'N', about: 'number of batches of windows', default: 2 },
      threads: { value: 'N', about: 'threads of the model', default: 2 },
    },
  );
  if (models.length === 0 || texts.length === 0)
    throw new Error('Give at least one --model folder and one --text file.');
  return { models, texts, ...settings };
}

/** As many windows as are asked for. */
function windowsOf(tokens: Int32Array, { rows, window, batches }: Settings): Int32Array[] {
  const windows = cutWindows(tokens, { window });
  const count = rows * batches;
  if (windows.length >= count) return windows.slice(0, count);
  throw new Error(`The text has ${tokens.length} tokens; ${1 + count * (window - 1)} are needed.`);
}

async function measure(folder: string, windows: Int32Array[], settings: Settings): Promise<Omit<ModelResult, 'name'>> {
  const session = await openGraph({
    modelPath: join(folder, 'model.onnx'),
    providers: ['cpu'],
    intraOpThreads: settings.threads,
  });
  const decoder = openDecoder(session, { slots: settings.rows });
  const started = performance.now();
  const losses = await tokenLosses(decoder, windows, settings);
  await decoder.close();
  const seconds = (performance.now() - started) / 1000;
  return { bytes: await weightBytes(folder), losses, seconds };
}

async function weightBytes(folder: string): Promise<number> {
  const sizes = await Promise.all(
    ['model.onnx', 'model.onnx_data'].map((name) =>
      stat(join(folder, name)).then(
        (found) => found.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function print(results: ModelResult[], settings: Settings): void {
  const [reference] = results;
  const tokens = reference?.losses.length ?? 0;
  console.log(
    `\n${tokens} tokens scored, windows of ${settings.window}, the first ${settings.warmup} of each only context\n`,
  );
  console.log('| model | MB | perplexity | loss against the first, nats/token | seconds |');
  console.log('|---|---:|---:|---:|---:|');
  for (const result of results) {
    const cells = [
      result.name,
      (result.bytes / 1e6).toFixed(0),
      Math.exp(mean(result.losses)).toFixed(3),
      reference && result !== reference ? difference(result.losses, reference.losses) : '–',
      result.seconds.toFixed(0),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}

await main();
