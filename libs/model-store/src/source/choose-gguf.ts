import { groupShards } from '../convert/gguf/shard-names.js';
import { chooseHubGraph } from './hub-files.js';
import { pullError } from './pull-error.js';
import { lastPart, listNames } from './text-model-layout.js';

/** Other runners of GGUF files take it where a repository has several quantizations. */
const defaultQuantization = 'Q4_K_M';

/** The files of one model, and what they were chosen from. */
export interface ChosenGguf {
  files: string[];
  /** Other models of the source, the first shard of each; none if the file was named. */
  others: string[];
}

/**
 * Returns the GGUF file to use of a folder or repository, or its shards in order: the named one, the only one, or the one
 * in Q4_K_M. Any shard names its model, and so does a quantization that one model has, such as `Q8_0` or `UD-Q4_K_XL`.
 * Files beside a model that are none (`mmproj…`) are left aside. Null if there is no model, or if there is a graph in the
 * transformers.js layout and no file was named. Fails with `MODEL_PULL_FAILED` that lists the models if one must be
 * named, or the shards that are missing.
 */
export function chooseGguf(
  paths: readonly string[],
  { where, file }: { where: string; file?: string },
): ChosenGguf | null {
  const all = groupShards(paths);
  const models = all.filter((model) => !isCompanion(firstOf(model)));
  if (file !== undefined) {
    const exact = all.find(({ files }) => files.includes(file));
    if (exact && isCompanion(file)) throw companionError(where, file);
    return chosen(exact ?? ofQuantization(models, file, where), { models: [], where });
  }
  const [only] = models;
  if (only === undefined) {
    const companion = all[0]?.files[0];
    if (companion === undefined || hasOtherModel(paths)) return null;
    throw companionError(where, companion);
  }
  if (chooseHubGraph(paths) !== null) return null;
  if (models.length === 1) return chosen(only, { models, where });
  const [preferred, ...more] = withQuantization(models, defaultQuantization);
  if (preferred && more.length === 0) return chosen(preferred, { models, where });
  throw pullError(`${where} has several GGUF files; name one, as in ${where}:${firstOf(only)}. ${listed(models)}`);
}

/** True for a GGUF file that `chooseGguf` may return. */
export function isGgufModel(path: string): boolean {
  return path.toLowerCase().endsWith('.gguf') && !isCompanion(path);
}

/** Returns the projectors of images or sound (mmproj) among the files. */
export function projectorsAmong(paths: readonly string[]): string[] {
  return paths.filter((path) => path.toLowerCase().endsWith('.gguf') && projectorPattern.test(lastPart(path)));
}

const projectorPattern = /(?:^|[-._])mmproj[-._]/i;

/** Projectors of images and sound, and matrices for quantizing, which runners load beside a model. */
function isCompanion(path: string): boolean {
  return /^(?:mmproj|imatrix)|[-._]mmproj[-._]|[-._]imatrix[-._]/i.test(lastPart(path));
}

function companionError(where: string, file: string): Error {
  return pullError(
    `${where}: ${file} belongs beside a model and is none. Add the language model's own GGUF file, with --projector if this one is elsewhere (docs/guides/vision.md).`,
  );
}

function hasOtherModel(paths: readonly string[]): boolean {
  return paths.some((path) => /\.(?:onnx|safetensors)$/.test(path));
}

/** The only model whose file names the quantization. */
function ofQuantization(models: readonly ShardedModel[], name: string, where: string): ShardedModel {
  const [only, ...others] = /^[A-Za-z0-9_-]+$/.test(name) ? withQuantization(models, name) : [];
  if (only === undefined) throw pullError(`${where} has no file ${name}. ${listed(models)}`);
  if (others.length === 0) return only;
  throw pullError(`${where} has several files in ${name}; name one of them. ${listed([only, ...others])}`);
}

/** Models whose file names the quantization, in letters of either case. `Q4_K_M` is not `UD-Q4_K_M` beside it. */
function withQuantization(models: readonly ShardedModel[], name: string): ShardedModel[] {
  const pattern = new RegExp(`(?:^|[-._/])${name}(?:[-./]|$)`, 'i');
  const found = models.filter((model) => pattern.test(firstOf(model)));
  const plain = found.filter((model) => !firstOf(model).toUpperCase().includes(`-UD-${name.toUpperCase()}`));
  return plain.length > 0 ? plain : found;
}

interface ShardedModel {
  files: string[];
  missing: string[];
}

function firstOf({ files }: ShardedModel): string {
  return files[0] ?? '';
}

function chosen(
  { files, missing }: ShardedModel,
  { models, where }: { models: readonly ShardedModel[]; where: string },
): ChosenGguf {
  if (missing.length > 0) {
    throw pullError(`${where}: ${files[0]} is one part of a split model, and ${missing.join(', ')} is missing.`);
  }
  return { files, others: models.map(firstOf).filter((first) => first !== files[0]) };
}

/** Of a model in shards, only the first is listed. */
function listed(models: readonly ShardedModel[]): string {
  if (models.length === 0) return 'It has no GGUF file of a language model.';
  return listNames(models.map(firstOf));
}
