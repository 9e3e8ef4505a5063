import { readFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { convertModel } from '#model-store';

/*
 * Tiny GGUF files of every architecture of decoders, with random weights, and what the Python reference computes with
 * them (`tools/reference/tiny_decoders.py`).
 */

export interface KnownText {
  prompt: string;
  promptIds: number[];
  text: string;
  tokens: number[];
  /** Logits after the prompt, and after the last token. */
  first: number[];
  last: number[];
}

interface KnownModel {
  /** Context of the conversion; absent: that of the file. */
  contextLength?: number;
  file: string;
  texts: KnownText[];
}

const fixtures = new URL('../../libs/inference/src/families/decoder/__fixtures__/architectures/', import.meta.url);
const models = JSON.parse(readFileSync(new URL('expected.json', fixtures), 'utf8')) as Record<string, KnownModel>;

export const tinyArchitectures = Object.keys(models);

/** Models with layers that do not attend. */
export const architecturesWithStates = [
  'lfm2',
  'lfm2-moe',
  'qwen35',
  'qwen35-moe',
  'qwen3-next',
  'qwen3-next-fused',
  'granite-h',
  'granite-h-moe',
  'bamba',
  'mamba2',
  'falcon-h1',
  'nemotron-h',
  'nemotron-h-moe',
];

/** Models that cache latents in place of keys and values. */
export const architecturesWithLatents = [
  'deepseek-v2-lite',
  'deepseek-v2',
  'deepseek-v3',
  'deepseek-v3.2',
  'glm4-moe-lite',
  'glm5',
  'glm5.2',
  'mistral4',
];

/** Models whose tokens attend to positions that an indexer chooses. */
export const architecturesWithIndexers = ['deepseek-v3.2', 'glm5', 'glm5.2'];

/** Models whose layers share keys and values. */
export const architecturesWithSharedKeys = ['gemma3n', 'gemma4', 'gemma4-moe'];

export function knownTexts(name: string): KnownText[] {
  return modelOf(name).texts;
}

/** Converts a model into a new folder, which it returns. */
export async function convertArchitecture(
  name: string,
  outputFolder: string,
  format: Record<string, string | number>,
): Promise<string> {
  const { file, contextLength } = modelOf(name);
  const inputFolder = `${outputFolder}-source`;
  for (const path of [inputFolder, outputFolder]) await mkdir(path);
  await copyFile(new URL(`${file}.gguf`, fixtures), join(inputFolder, 'tiny.gguf'));
  const options = { ...format, ...(contextLength !== undefined && { contextLength }) };
  await convertModel({ kind: 'gguf', inputFolder, outputFolder, options });
  return outputFolder;
}

function modelOf(name: string): KnownModel {
  const model = models[name];
  if (model === undefined) throw new Error(`there is no tiny ${name}`);
  return model;
}
