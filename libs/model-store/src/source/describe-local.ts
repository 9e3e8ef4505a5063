import { open, readdir, readFile, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { checkEncoder } from '../convert/bert.converter.js';
import { parseShardName } from '../convert/gguf/shard-names.js';
import { InputFile } from '../convert/input-file.js';
import { filesBelowFolder, filesOfFolder, type ModelFiles } from '../convert/safetensors/model-files.js';
import { describeAdapter, holdsAdapter, isAdapterFile } from './adapter-description.js';
import { chooseGguf, type ChosenGguf, isGgufModel, projectorsAmong } from './choose-gguf.js';
import { describeGgufContent, titleOf } from './gguf-encoder-description.js';
import { describeExport, type ExportedModel } from './exported-model.js';
import {
  chooseProjector,
  describeWithProjector,
  type FoundProjector,
  projectorFile,
  projectorMembers,
} from './projector.js';
import { describeMatting } from './matting-model.js';
import { describePipeline } from './pipeline-model.js';
import {
  convertedEncoder,
  holdsEncoderWeights,
  isEncoderFile,
  readSentencePrompts,
  sizedFiles,
} from './encoder-weights.js';
import { refuseLinksOutOf } from './links-of-folder.js';
import { type LocalPlace, ollamaModelOf, snapshotOf } from './local-caches.js';
import { describeTransducer } from './transducer-model.js';
import { describeVoice } from './voice-model.js';
import { describeWhisper } from './whisper-model.js';
import { settingsEnding } from '../voices/index.js';
import { describeSentence, type PoolingChoice } from './pooling-model.js';
import { checkpointFiles, describeSafetensors, holdsCheckpoint } from './safetensors-description.js';
import { pullError } from './pull-error.js';
import type { SourceDescription } from './source-description.js';
import {
  isConfiguration,
  isPickled,
  kindOf,
  lastPart,
  parseJson,
  pickled,
  requireGraph,
  withoutEnding,
} from './text-model-layout.js';

/**
 * Describes a `.gguf` file, all shards of one, or a folder with one, with safetensors, or with a graph in the
 * transformers.js layout. `<folder>:<file>` names one of several GGUF files, by its name or its quantization. Folders of
 * a hub's cache, and blobs and manifests of Ollama, are such models too.
 */
export async function describeLocal(text: string, choice: PoolingChoice = {}): Promise<SourceDescription> {
  const { path, file } = await splitFile(text);
  const found = await stat(path).catch(() => null);
  if (found === null) throw pullError(`There is no file or folder ${text}.`);
  if (found.isDirectory()) {
    const snapshot = await snapshotOf(path);
    const described = await describeFolder(snapshot?.path ?? path, { choice, file, where: snapshot?.name });
    return isNamedByFolder(described) ? { ...described, name: snapshot?.name ?? described.name } : described;
  }
  if (path.toLowerCase().endsWith('.gguf')) return describeGgufFile(path, choice);
  if (path.endsWith('.onnx') && existsSync(`${path}${settingsEnding}`))
    return describeFolder(dirname(path), { choice, file: basename(path) });
  const model = (await isGguf(path)) ? { path } : await ollamaModelOf(path);
  if (model !== null) return describeBlob(model, choice);
  throw pullError(
    `${text} is neither a folder, nor a GGUF file, nor a manifest (.yaml)${isPickled(path) ? `; ${pickled}` : ''}.`,
  );
}

/** Splits `<folder>:<file>`; a path that exists is one, whatever its name. */
async function splitFile(text: string): Promise<{ path: string; file?: string }> {
  const whole = resolve(text);
  const [, folder = '', file = ''] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (file === '' || existsSync(whole)) return { path: whole };
  const found = await stat(resolve(folder)).catch(() => null);
  return found?.isDirectory() ? { path: resolve(folder), file } : { path: whole };
}

/** GGUF files and voices name their model themselves. */
function isNamedByFolder(described: SourceDescription): boolean {
  if (described.format === 'export') return described.exported.title === undefined;
  return described.format !== 'gguf' && described.format !== 'gguf-encoder';
}

async function isGguf(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    return (await file.read({ buffer: Buffer.alloc(4) })).buffer.toString('latin1') === 'GGUF';
  } finally {
    await file.close();
  }
}

/** `sha256-` and twelve digits. */
const shortHashLength = 19;

/** Describes a file that is named by its hash, under which no model could be told from another. */
async function describeBlob({ path, name }: LocalPlace, choice: PoolingChoice): Promise<SourceDescription> {
  const file = await InputFile.open(dirname(path), basename(path));
  try {
    const content = await describeGgufContent([file], choice);
    // A whole hash would be longer than an id may be.
    const title = name ?? titleOf(content) ?? basename(path).slice(0, shortHashLength);
    const files = [{ path: basename(path), as: 'model.gguf', bytes: file.bytes }];
    return { ...content, source: { uri: `file:${path}`, files }, name: title };
  } finally {
    await file.close();
  }
}

/** Describes a file, or with all others the shards of a model, of which any may be named. */
async function describeGgufFile(path: string, choice: PoolingChoice): Promise<SourceDescription> {
  const folder = dirname(path);
  const file = basename(path);
  const all = await readdir(folder);
  const paths = parseShardName(file) === null ? [file] : all;
  const chosen = chooseGguf(paths, { where: folder, file }) ?? { files: [file], others: [] };
  // Beside several models, nothing says whose it is.
  const isLone = all.filter((name) => isGgufModel(name) && !chosen.files.includes(name)).length === 0;
  return describeGgufFiles(folder, { ...chosen, projectors: isLone ? projectorsAmong(all) : [] }, choice);
}

/** The projector of the folder, or the named one, which may be anywhere. */
async function findProjector(
  folder: string,
  projectors: readonly string[],
  { projector: wanted }: PoolingChoice,
): Promise<FoundProjector | null> {
  const isNamed = wanted !== undefined && wanted !== 'none';
  const name = isNamed ? wanted : chooseProjector(projectors, { where: folder, wanted });
  if (name === null) return null;
  const path = isNamed && !existsSync(join(folder, name)) ? resolve(name) : join(folder, name);
  const { size } = await stat(path).catch(() => {
    throw pullError(`There is no file ${name}, which --projector names.`);
  });
  return {
    isNamed,
    source: { uri: `file:${path}`, files: [{ path: basename(path), as: projectorFile, bytes: size }] },
    open: () => InputFile.open(dirname(path), basename(path)),
  };
}

async function describeGgufFiles(
  folder: string,
  { files: names, others, projectors }: ChosenGguf & { projectors: readonly string[] },
  choice: PoolingChoice,
): Promise<SourceDescription> {
  const files: InputFile[] = [];
  try {
    for (const name of names) files.push(await InputFile.open(folder, name));
    const described = await describeWithProjector(files, choice, await findProjector(folder, projectors, choice));
    const [first = ''] = names;
    const source = {
      uri: `file:${names.length === 1 ? join(folder, first) : folder}`,
      files: files.map(({ name, bytes }) => ({ path: name, bytes })),
    };
    const name = withoutEnding(basename(first));
    return { ...described.content, ...projectorMembers(described), source, name, others };
  } finally {
    for (const file of files) await file.close();
  }
}

async function describeFolder(
  folder: string,
  { choice, file, where = folder }: { choice: PoolingChoice; file?: string; where?: string },
): Promise<SourceDescription> {
  const files = await filesBelowFolder(folder);
  const paths = [...files.names];
  await refuseLinksOutOf(folder, paths);
  const lone = (await describeVoice(files, { where, file })) ?? (await describeMatting(files, { where, file }));
  if (lone !== null) return describeExportFolder(folder, lone);
  const gguf = chooseGguf(paths, { where: folder, file });
  if (gguf !== null) {
    const inner = dirname(gguf.files[0] ?? '');
    const names = gguf.files.map((path) => basename(path));
    const beside = paths.filter((path) => dirname(path) === inner).map((path) => basename(path));
    return describeGgufFiles(
      join(folder, inner),
      { ...gguf, files: names, projectors: projectorsAmong(beside) },
      choice,
    );
  }
  if (holdsAdapter(paths)) return describeAdapterFolder(folder);
  const several =
    (await describePipeline(files, where)) ??
    (await describeWhisper(files, where)) ??
    (await describeTransducer(files, where));
  if (several !== null) return describeExportFolder(folder, several);
  const encoder = await describeEncoderFolder(folder, files, choice);
  if (encoder !== null) return encoder;
  if (holdsCheckpoint(paths)) return describeCheckpointFolder(folder, files, { choice, where });
  requireGraph(paths, 'decoder', folder);
  const config = await readJson(folder, 'config.json');
  const exported = await describeExport(files, config, where);
  if (exported !== null) return describeExportFolder(folder, exported);
  const kind = kindOf(config, folder);
  const graphFile = requireGraph(paths, kind, folder);
  const generation = 'generation_config.json';
  const sentence = await describeSentence(files, { where: folder, choice, kind });
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

async function describeExportFolder(folder: string, exported: ExportedModel): Promise<SourceDescription> {
  const source = { uri: `file:${folder}`, files: await sizedFiles(folder, exported.paths) };
  const name = exported.title ?? lastPart(folder.split(sep).join('/'));
  return { format: 'export', source, name, exported, license: null };
}

/** `where` names the folder to people: folders of a cache are named by a hash. */
async function describeCheckpointFolder(
  folder: string,
  files: ModelFiles,
  { choice, where }: { choice: PoolingChoice; where: string },
): Promise<SourceDescription> {
  const checkpoint = await describeSafetensors(files, where, choice);
  return {
    format: 'safetensors',
    source: {
      uri: `file:${folder}`,
      files: await sizedFiles(folder, await checkpointFiles(files, checkpoint)),
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
  files: ModelFiles,
  choice: PoolingChoice,
): Promise<SourceDescription | null> {
  const paths = [...files.names];
  if (!paths.includes('config.json')) return null;
  const config = await readJson(folder, 'config.json');
  if (!holdsEncoderWeights(paths, config)) return null;
  const kind = kindOf(config, folder);
  const sentence = await describeSentence(files, { where: folder, choice, kind, converts: true });
  await checkEncoder(files);
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
