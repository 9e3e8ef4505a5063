import { groupShards } from '../convert/gguf/shard-names.js';
import { chooseHubGraph } from './hub-files.js';
import { pullError } from './pull-error.js';

const maxNamed = 12;

/**
 * Returns the GGUF file to use of a folder or repository, or its shards in order: the named one, or the only one. Any
 * shard names its model, and so does a quantisation that one file has, such as `Q4_K_M`. Null if there is none, or if there is a graph in the transformers.js layout and no file was
 * named. Fails with `MODEL_PULL_FAILED` that lists the files if one must be named, or the shards that are missing.
 */
export function chooseGguf(
  paths: readonly string[],
  { where, file }: { where: string; file?: string },
): string[] | null {
  const models = groupShards(paths);
  if (file !== undefined) {
    const named = models.find(({ files }) => files.includes(file)) ?? ofQuantization(models, file);
    if (named === undefined) throw pullError(`${where} has no file ${file}. ${listed(models)}`);
    return whole(named, where);
  }
  const [only, ...others] = models;
  if (only === undefined || chooseHubGraph(paths) !== null) return null;
  if (others.length === 0) return whole(only, where);
  const first = only.files[0] ?? '';
  throw pullError(`${where} has several GGUF files; name one, as in ${where}:${first}. ${listed(models)}`);
}

/** The only model whose file names the quantisation, in letters of either case; undefined if there are others. */
function ofQuantization(models: readonly ShardedModel[], name: string): ShardedModel | undefined {
  if (!/^[A-Za-z0-9_]+$/.test(name)) return undefined;
  const pattern = new RegExp(`(?:^|[-._/])${name}(?:[-./]|$)`, 'i');
  const [only, ...others] = models.filter(({ files }) => pattern.test(files[0] ?? ''));
  return others.length === 0 ? only : undefined;
}

interface ShardedModel {
  files: string[];
  missing: string[];
}

function whole({ files, missing }: ShardedModel, where: string): string[] {
  if (missing.length === 0) return files;
  throw pullError(`${where}: ${files[0]} is one part of a split model, and ${missing.join(', ')} is missing.`);
}

/** Of a model in shards, only the first is listed. */
function listed(models: readonly ShardedModel[]): string {
  if (models.length === 0) return 'It has no GGUF file.';
  const candidates = models.map(({ files }) => files[0] ?? '');
  const more = candidates.length > maxNamed ? ` and ${candidates.length - maxNamed} more` : '';
  return `There are: ${candidates.slice(0, maxNamed).join(', ')}${more}.`;
}
