import { mebibyte } from '#common/values';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { memoryAccess, readOnnxModel } from '../onnx/index.js';
import type { ExportedModel } from './exported-model.js';
import { isPartOf } from './hub-files.js';
import { pullError } from './pull-error.js';

/* Transducers of NeMo as ONNX graphs, such as Parakeet: with the prediction network in the joint network, or beside it. */

interface TransducerLayout {
  encoder: string;
  /** The other graphs by the options of the family. */
  others: { jointFile: string; predictorFile?: string };
  vocabulary: string;
}

const layouts: readonly TransducerLayout[] = [
  { encoder: 'encoder-model', others: { jointFile: 'decoder_joint-model' }, vocabulary: 'vocab.txt' },
  { encoder: 'encoder', others: { jointFile: 'joiner', predictorFile: 'decoder' }, vocabulary: 'tokens.txt' },
];

/** Precisions that a processor computes fast, best first; float16 is converted at each operator. */
const precisions = ['.int8', '', '.fp16'];

const configFile = 'config.json';
export const transducerType = 'nemo-conformer-tdt';
const served = 'of transducers, those of NeMo that predict tokens and durations (TDT) can be added';

/**
 * Describes such a model; null for every other one. Fails with `MODEL_PULL_FAILED` for a transducer that no family runs.
 */
export async function describeTransducer(files: ModelFiles, where: string): Promise<ExportedModel | null> {
  const { names } = files;
  // What is wrong with a configuration is said where every model needs it.
  const config = names.has(configFile) ? await readJsonObject(files, configFile).catch(() => null) : {};
  if (config === null) return null;
  const type = config['model_type'] ?? transducerType;
  if (type !== transducerType) {
    if (String(type).startsWith('nemo-conformer-')) throw pullError(`${where} holds a ${String(type)}; ${served}.`);
    return null;
  }
  const found = layouts.map((layout) => graphsOf(names, layout)).find((graphs) => graphs !== null);
  if (found === undefined || found === null) {
    if (config['model_type'] === undefined) return null;
    throw pullError(`${where} holds no graphs such as encoder-model.onnx and decoder_joint-model.onnx with vocab.txt.`);
  }
  const { graphFile, familyOptions, vocabulary } = found;
  const tokens = await countTokens(files, vocabulary);
  if (tokens === null)
    throw pullError(`${where} holds a transducer whose ${vocabulary} does not end in <blk>; ${served}.`);
  if (!(await predictsDurations(files, familyOptions.jointFile, tokens))) {
    throw pullError(`${where} holds a transducer that predicts no durations; ${served}.`);
  }
  const graphs = [graphFile, ...Object.values(familyOptions)];
  const isWanted = (path: string): boolean => graphs.some((graph) => isPartOf(path, graph) || isWeights(path, graph));
  return {
    family: 'parakeet',
    graphFile,
    familyOptions,
    paths: [...names].filter((path) => path === configFile || path === vocabulary || isWanted(path)),
    config: { ...config, model_type: transducerType },
    preprocessor: {},
    generation: {},
  };
}

interface TransducerFiles {
  graphFile: string;
  familyOptions: { jointFile: string; predictorFile?: string };
  vocabulary: string;
}

/** Returns the files of a layout, each graph in the best precision that it has; null if one is missing. */
function graphsOf(
  names: ReadonlySet<string>,
  { encoder, others, vocabulary }: TransducerLayout,
): TransducerFiles | null {
  const find = (stem: string): string | undefined =>
    precisions.map((precision) => `${stem}${precision}.onnx`).find((path) => names.has(path));
  const graphFile = find(encoder);
  const jointFile = find(others.jointFile);
  const predictorFile = others.predictorFile === undefined ? undefined : find(others.predictorFile);
  const isMissing = others.predictorFile !== undefined && predictorFile === undefined;
  if (graphFile === undefined || jointFile === undefined || isMissing || !names.has(vocabulary)) return null;
  return { graphFile, familyOptions: { jointFile, ...(predictorFile !== undefined && { predictorFile }) }, vocabulary };
}

/** External data under the name that some exporters give it. */
function isWeights(path: string, graph: string): boolean {
  return path === graph.replace(/\.onnx$/, '.weights');
}

/** Returns the number of tokens; null if the last one is not the blank, as it is in NeMo. */
async function countTokens(files: ModelFiles, name: string): Promise<number | null> {
  const file = await files.open(name);
  try {
    const text = Buffer.from(await file.read(0, file.bytes)).toString('utf8');
    const lines = text.split(/\r?\n/).filter((line) => line !== '');
    return lines.at(-1) === `<blk> ${lines.length - 1}` ? lines.length : null;
  } finally {
    await file.close?.();
  }
}

/** Larger graphs are not fetched only to be examined. */
const maxExaminedBytes = 32 * mebibyte;

/**
 * Compares the bias of the logits with the number of tokens. True for graphs that are not examined, or cannot be read: the
 * family refuses those for better reasons.
 */
async function predictsDurations(files: ModelFiles, jointFile: string, tokens: number): Promise<boolean> {
  const file = await files.open(jointFile);
  try {
    if (file.bytes > maxExaminedBytes) return true;
    // One read, because each may be a request.
    const graph = memoryAccess(await file.read(0, file.bytes));
    const { initializers } = await readOnnxModel(graph, { allowsExternal: true });
    return !initializers.some(({ dimensions }) => dimensions.length === 1 && dimensions[0] === tokens);
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  } finally {
    await file.close?.();
  }
}
