import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { parseShardName } from '../convert/gguf/shard-names.js';
import { InputFile } from '../convert/input-file.js';
import { filesBelowFolder, filesOfFolder } from '../convert/safetensors/model-files.js';
import { describeAdapter, holdsAdapter, isAdapterFile } from './adapter-description.js';
import { checkEncoder } from './check-encoder.js';
import { chooseGguf } from './choose-gguf.js';
import { describeGgufContent } from './gguf-encoder-description.js';
import { filesBelow } from '../files-below.js';
import {
  convertedEncoder,
  holdsEncoderWeights,
  isEncoderFile,
  readSentencePrompts,
  sizedFiles,
} from './encoder-weights.js';
import { refuseLinksOutOf } from './links-of-folder.js';
import { describeSentence, type PoolingChoice } from './pooling-model.js';
import { describeSafetensors, holdsCheckpoint, isWanted } from './safetensors-description.js';
import { pullError } from './pull-error.js';
import type { SourceDescription } from './source-description.js';
import { isConfiguration, kindOf, lastPart, parseJson, requireGraph, withoutEnding } from './text-model-layout.js';

/**
 * Describes a `.gguf` file, all shards of one, or a folder with one, with safetensors, or with a graph in the
 * transformers.js layout.
 */
export async function describeLocal(given: string, choice: PoolingChoice = {}): Promise<SourceDescription> {
  const path = resolve(given);
  const found = await stat(path).catch(() => null);
  if (found === null) throw pullError(`There is no file or folder ${given}.`);
  if (found.isDirectory()) return describeFolder(path, choice);
  if (path.toLowerCase().endsWith('.gguf')) return describeGgufFile(path, choice);
  throw pullError(`${given} is neither a folder, nor a .gguf file, nor a manifest (.yaml).`);
}

/** Describes a file, or with all others the shards of a model, of which any may be named. */
async function describeGgufFile(path: string, choice: PoolingChoice): Promise<SourceDescription> {
  const folder = dirname(path);
  const file = basename(path);
  if (parseShardName(file) === null) return describeGgufFiles(folder, [file], choice);
  return describeGgufFiles(folder, chooseGguf(await readdir(folder), { where: folder, file }) ?? [file], choice);
}

async function describeGgufFiles(
  folder: string,
  names: readonly string[],
  choice: PoolingChoice,
): Promise<SourceDescription> {
  const files: InputFile[] = [];
  try {
    for (const name of names) files.push(await InputFile.open(folder, name));
    const content = await describeGgufContent(files, choice);
    const [first = ''] = names;
    const source = {
      uri: `file:${names.length === 1 ? join(folder, first) : folder}`,
      files: files.map(({ name, bytes }) => ({ path: name, bytes })),
    };
    return { ...content, source, name: withoutEnding(basename(first)) };
  } finally {
    for (const file of files) await file.close();
  }
}

async function describeFolder(folder: string, choice: PoolingChoice): Promise<SourceDescription> {
  const paths = await filesBelow(folder);
  await refuseLinksOutOf(folder, paths);
  const gguf = chooseGguf(paths, { where: folder });
  if (gguf !== null) {
    const inner = dirname(gguf[0] ?? '');
    return describeGgufFiles(
      join(folder, inner),
      gguf.map((path) => basename(path)),
      choice,
    );
  }
  if (holdsAdapter(paths)) return describeAdapterFolder(folder);
  const encoder = await describeEncoderFolder(folder, paths, choice);
  if (encoder !== null) return encoder;
  if (holdsCheckpoint(paths)) return describeCheckpointFolder(folder, choice);
  requireGraph(paths, 'decoder', folder);
  const config = await readJson(folder, 'config.json');
  const kind = kindOf(config, folder);
  const graphFile = requireGraph(paths, kind, folder);
  const generation = 'generation_config.json';
  const sentence = await describeSentence(await filesBelowFolder(folder), { where: folder, choice, kind });
  return {
    format: 'onnx',
    source: {
      uri: `file:${folder}`,
      files: await sizedFiles(
        folder,
        paths.filter((path) => path.startsWith(graphFile) || isConfiguration(path)),
      ),
    },
    name: lastPart(folder.split(sep).join('/')),
    kind,
    graphFile,
    config,
    sentence,
    prompts: await readSentencePrompts(paths, (path) => readJson(folder, path)),
    generation: paths.includes(generation) ? await readJson(folder, generation) : {},
    license: null,
  };
}

async function describeCheckpointFolder(folder: string, choice: PoolingChoice): Promise<SourceDescription> {
  const files = await filesBelowFolder(folder);
  const checkpoint = await describeSafetensors(files, folder, choice);
  return {
    format: 'safetensors',
    source: {
      uri: `file:${folder}`,
      files: await sizedFiles(folder, [...files.names].filter((path) => isWanted(path, checkpoint)).sort()),
    },
    name: lastPart(folder.split(sep).join('/')),
    checkpoint,
  };
}

async function describeAdapterFolder(folder: string): Promise<SourceDescription> {
  const files = await filesOfFolder(folder);
  const wanted = await sizedFiles(folder, [...files.names].filter(isAdapterFile).sort());
  const name = lastPart(folder.split(sep).join('/'));
  return describeAdapter(files, { source: { uri: `file:${folder}`, files: wanted }, name });
}

/** Null for any other folder. */
async function describeEncoderFolder(
  folder: string,
  paths: string[],
  choice: PoolingChoice,
): Promise<SourceDescription | null> {
  if (!paths.includes('config.json')) return null;
  const config = await readJson(folder, 'config.json');
  if (!holdsEncoderWeights(paths, config)) return null;
  const kind = kindOf(config, folder);
  const files = await filesBelowFolder(folder);
  const sentence = await describeSentence(files, { where: folder, choice, kind, converts: true });
  await checkEncoder(files, config);
  return {
    format: 'onnx',
    ...convertedEncoder,
    source: { uri: `file:${folder}`, files: await sizedFiles(folder, paths.filter(isEncoderFile)) },
    name: lastPart(folder.split(sep).join('/')),
    kind,
    config,
    sentence,
    prompts: await readSentencePrompts(paths, (path) => readJson(folder, path)),
    generation: {},
    license: null,
  };
}

async function readJson(folder: string, name: string): Promise<Record<string, unknown>> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => '');
  return parseJson(text, name, folder);
}
