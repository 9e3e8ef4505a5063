import { join } from 'node:path';
import { PlatformError } from '#common';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { readJsonIfPresent } from '../text/index.js';
import { type Pooling, poolings } from './pooling.js';

/** Settings that turn model output into the vector of a text. */
export interface SentenceSettings {
  /** Null: no file and no option says it. A graph that returns whole vectors pools by itself. */
  pooling: Pooling | null;
  normalize: boolean;
  /** True when layers follow the pooling: only a graph that contains them can be used. */
  needsWholeGraph: boolean;
}

interface ModuleEntry {
  path: string;
  type: string;
}

/** `1_Pooling/config.json`: one flag per pooling, or since version 5 the names of the poolings. */
interface PoolingFile extends Record<string, unknown> {
  pooling_mode?: string | string[];
}

const flags: Record<string, Pooling> = {
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'cls',
  pooling_mode_lasttoken: 'last',
  pooling_mode_max_tokens: 'max',
};

const names: Record<string, Pooling> = { mean: 'mean', cls: 'cls', lasttoken: 'last', last: 'last', max: 'max' };

/**
 * Reads `modules.json` of the sentence-transformers layout and the files it references. `familyOptions.pooling` and
 * `.normalize` of the manifest take precedence. Without files, vectors are normalized to length 1, and the pooling
 * stays open. Throws `INVALID_MANIFEST` or `INVALID_MODEL` for settings that are not supported, because a guess would
 * return wrong vectors.
 */
export async function readSentenceSettings({
  directory,
  familyOptions,
}: Pick<HostLoadOptions, 'directory' | 'familyOptions'>): Promise<SentenceSettings> {
  const modules = (await readJsonIfPresent<ModuleEntry[]>(join(directory, 'modules.json'))) ?? [];
  const kinds = modules.map(({ type }) => type.split('.').at(-1) ?? '');
  const poolingModule = modules[kinds.indexOf('Pooling')];
  const pooling = optionalPooling(familyOptions.pooling) ?? (await poolingOf(directory, poolingModule));
  const { normalize = modules.length === 0 || kinds.includes('Normalize') } = familyOptions;
  if (typeof normalize !== 'boolean') throw badOption('normalize', 'must be true or false');
  const needsWholeGraph = kinds.some((kind) => !['Transformer', 'Pooling', 'Normalize'].includes(kind));
  return { pooling, normalize, needsWholeGraph };
}

function optionalPooling(value: string | number | boolean | undefined): Pooling | null {
  if (value === undefined) return null;
  const found = poolings.find((pooling) => pooling === value);
  if (found === undefined) throw badOption('pooling', `must be one of ${poolings.join(', ')}`);
  return found;
}

async function poolingOf(directory: string, module: ModuleEntry | undefined): Promise<Pooling | null> {
  if (module === undefined) return null;
  const file = `${module.path}/config.json`;
  const config = await readJsonIfPresent<PoolingFile>(join(directory, file));
  if (config === null) throw unusable(`${file} is missing`);
  const named = config.pooling_mode === undefined ? [] : [config.pooling_mode].flat();
  const flagged = Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true);
  const ways = [...named.map((name) => names[name]), ...flagged.map((flag) => flags[flag])];
  const [way] = ways;
  if (ways.length !== 1 || way === undefined) {
    throw unusable(`${file} asks for ${[...named, ...flagged].join(' and ') || 'no pooling'}`);
  }
  return way;
}

function badOption(name: string, problem: string): PlatformError {
  return new PlatformError('INVALID_MANIFEST', `familyOptions.${name} ${problem}.`);
}

function unusable(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The pooling of this model is not supported: ${reason}.`);
}
