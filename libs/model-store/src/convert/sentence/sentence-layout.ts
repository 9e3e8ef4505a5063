import { invalidFile, quoted } from '../invalid-file.js';
import { type ModelFiles, readJsonObject, readJsonValue } from '../safetensors/model-files.js';
import type { DenseLayer, SentencePooling } from './sentence-head.js';

/* The layout of sentence-transformers: `modules.json` lists what follows the model, each with a folder of its own. */

const modulesFile = 'modules.json';
export const sentenceFile = 'config_sentence_transformers.json';

/** Files of the layout beside those of the model. */
const layoutPattern =
  /^(?:\d+_\w+\/(?:config\.json|model\.safetensors)|modules\.json|config_sentence_transformers\.json)$/;

export function isSentenceFile(path: string): boolean {
  return layoutPattern.test(path);
}

/** A layer behind the pooling, and the folder of its weights. */
export interface StoredDense extends Omit<DenseLayer, 'name'> {
  folder: string;
}

/** The content of `modules.json` and of the files that it names. */
export type SentenceLayout =
  | { kind: 'embedding'; pooling: SentencePooling; normalize: boolean; dense: StoredDense[] }
  | { kind: 'rerank'; trueToken: number; falseToken: number };

interface ModuleEntry {
  path: string;
  kind: string;
}

/**
 * Returns null without the file, and where nothing follows the model. Throws `INVALID_MODEL` for modules that are not
 * computed here.
 */
export async function readSentenceLayout(files: ModelFiles): Promise<SentenceLayout | null> {
  if (!files.names.has(modulesFile)) return null;
  const modules = readModules(await readJsonValue(files, modulesFile));
  const [transformer, ...others] = modules;
  if (others.length === 0) return null;
  if (transformer?.kind !== 'Transformer' || transformer.path !== '') {
    throw invalidFile(modulesFile, 'its first module is no Transformer in the same folder');
  }
  const [next, ...behind] = others;
  if (next?.kind === 'LogitScore' && behind.length === 0) return readScore(files, next);
  if (next?.kind !== 'Pooling') throw unknownModule(next);
  const normalize = behind.at(-1)?.kind === 'Normalize';
  const dense = normalize ? behind.slice(0, -1) : behind;
  const unknown = dense.find(({ kind }) => kind !== 'Dense');
  if (unknown) throw unknownModule(unknown);
  return {
    kind: 'embedding',
    pooling: await readPooling(files, next),
    normalize,
    dense: await Promise.all(dense.map((module) => readDense(files, module))),
  };
}

function unknownModule(module: ModuleEntry | undefined): Error {
  const names = 'Pooling, Dense, Normalize and LogitScore';
  return invalidFile(
    modulesFile,
    `it has ${module ? `a module ${quoted(module.kind)}` : 'no pooling'}; ${names} are computed`,
  );
}

function readModules(value: unknown): ModuleEntry[] {
  if (!Array.isArray(value)) throw invalidFile(modulesFile, 'it is no list');
  return value.map((entry: unknown) => {
    const { path, type } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>;
    if (typeof path !== 'string' || typeof type !== 'string') {
      throw invalidFile(modulesFile, 'it has a module without a path or a type');
    }
    return { path, kind: type.slice(type.lastIndexOf('.') + 1) };
  });
}

const poolings: Readonly<Record<string, SentencePooling>> = {
  mean: 'mean',
  cls: 'cls',
  lasttoken: 'last',
  max: 'max',
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'cls',
  pooling_mode_lasttoken: 'last',
  pooling_mode_max_tokens: 'max',
};

async function readPooling(files: ModelFiles, { path }: ModuleEntry): Promise<SentencePooling> {
  const name = `${path}/config.json`;
  const config = await readJsonObject(files, name);
  const { pooling_mode: mode, include_prompt: withPrompt } = config;
  const flagged = Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true);
  const ways = [...(mode === undefined ? [] : [mode].flat().map(String)), ...flagged];
  const [way = ''] = ways;
  const pooling = ways.length === 1 && Object.hasOwn(poolings, way) ? poolings[way] : undefined;
  if (pooling === undefined) throw invalidFile(name, `it asks for ${ways.join(' and ').slice(0, 120) || 'no pooling'}`);
  if (withPrompt === false && pooling !== 'last') {
    throw invalidFile(name, 'it leaves prompts out of the pooling (include_prompt), which is not computed here');
  }
  return pooling;
}

const activations: Readonly<Record<string, DenseLayer['activation']>> = {
  Identity: 'identity',
  Tanh: 'tanh',
  GELU: 'gelu',
  SiLU: 'silu',
};

async function readDense(files: ModelFiles, { path }: ModuleEntry): Promise<StoredDense> {
  const name = `${path}/config.json`;
  const {
    in_features: inputs,
    out_features: outputs,
    bias,
    activation_function: type,
    ...others
  } = await readJsonObject(files, name);
  if (others['use_residual'] === true) throw invalidFile(name, 'its layer has a residual, which is not computed here');
  const activation = String(type ?? 'torch.nn.modules.activation.Tanh');
  const kind = activation.slice(activation.lastIndexOf('.') + 1);
  const found = Object.hasOwn(activations, kind) ? activations[kind] : undefined;
  if (found === undefined) throw invalidFile(name, `its activation is ${quoted(kind)}`);
  if (!isSize(inputs) || !isSize(outputs)) throw invalidFile(name, 'it does not say how large its layer is');
  return { folder: path, inputs, outputs, hasBias: bias !== false, activation: found };
}

async function readScore(files: ModelFiles, { path }: ModuleEntry): Promise<SentenceLayout> {
  const name = `${path}/config.json`;
  const { true_token_id: trueToken, false_token_id: falseToken } = await readJsonObject(files, name);
  if (isToken(trueToken) && isToken(falseToken)) return { kind: 'rerank', trueToken, falseToken };
  throw invalidFile(name, 'it does not name the tokens of a relevant and of another document');
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function isToken(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
