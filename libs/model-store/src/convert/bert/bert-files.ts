import type { WeightSource } from '../decoder/index.js';
import { InputFile } from '../input-file.js';
import { invalidFile } from '../invalid-file.js';
import type { BertLayerNames, BertShape, BertWeights } from './bert-encoder.js';
import type { ClassifierHead } from './classifier-head.js';
import type { ModelFiles } from '../safetensors/model-files.js';
import type { EncoderSettings } from './encoder-config.js';
import { SafetensorsFile } from './safetensors-file.js';

const weightsFile = 'model.safetensors';

const layerNames: BertLayerNames = {
  query: 'attention.self.query',
  key: 'attention.self.key',
  value: 'attention.self.value',
  output: 'attention.output.dense',
  attentionNorm: 'attention.output.LayerNorm',
};

const mpnetNames: BertLayerNames = {
  query: 'attention.attn.q',
  key: 'attention.attn.k',
  value: 'attention.attn.v',
  output: 'attention.attn.o',
  attentionNorm: 'attention.LayerNorm',
};

/** How a relative of BERT differs from it. */
interface BertKind {
  /** Of an encoder inside a larger model. */
  prefix: string;
  /** Positions start behind the padding id. */
  hasPositionOffset: boolean;
  takesTypes: boolean;
  hasTypes: boolean;
  hasRelativeBias: boolean;
  names: BertLayerNames;
  head: (prefix: string) => Pick<ClassifierHead, 'dense' | 'output'>;
}

const bert: BertKind = {
  prefix: 'bert.',
  hasPositionOffset: false,
  takesTypes: true,
  hasTypes: true,
  hasRelativeBias: false,
  names: layerNames,
  head: (prefix) => ({ dense: `${prefix}pooler.dense`, output: 'classifier' }),
};

const roberta: BertKind = {
  ...bert,
  prefix: 'roberta.',
  hasPositionOffset: true,
  takesTypes: false,
  head: () => ({ dense: 'classifier.dense', output: 'classifier.out_proj' }),
};

const kinds: Record<string, BertKind> = {
  bert,
  roberta,
  'xlm-roberta': roberta,
  camembert: roberta,
  mpnet: { ...roberta, prefix: 'mpnet.', hasTypes: false, hasRelativeBias: true, names: mpnetNames },
};

/** Model types that are built like BERT. */
export const bertTypes: readonly string[] = Object.keys(kinds);

/** The tensors of an encoder by their names in PyTorch. */
export interface EncoderTensors extends WeightSource {
  has(name: string): boolean;
  /** Throws `INVALID_MODEL` if it does not exist. */
  shapeOf(name: string): readonly number[];
}

/** The weights of an encoder, its shape, and its classifier if it has one. */
export interface BertModel<Source extends EncoderTensors> {
  shape: BertShape;
  head: ClassifierHead | null;
  weights: BertWeights & { source: Source };
}

/** The caller closes the weights. */
export type BertFiles = BertModel<SafetensorsFile>;

/** Opens `model.safetensors` or its shards of one of the types. Throws `INVALID_MODEL` if it does not match the settings. */
export async function openBertFiles(
  files: ModelFiles,
  settings: EncoderSettings,
  types: readonly string[] = bertTypes,
): Promise<BertFiles> {
  shapeOf(settings, kindOf(settings, types));
  const source = await SafetensorsFile.open(files);
  try {
    return readBert(settings, source, types);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Reads shape and names only. Throws `INVALID_MODEL` if tensors and settings do not match. */
export function readBert<Source extends EncoderTensors>(
  settings: EncoderSettings,
  source: Source,
  types: readonly string[] = bertTypes,
): BertModel<Source> {
  const kind = kindOf(settings, types);
  const shape = shapeOf(settings, kind);
  const prefix = findPrefix(source, ['', kind.prefix], 'embeddings.word_embeddings.weight');
  checkSizes(source, tableSizes(shape, prefix, settings));
  const head = settings.isClassifier ? headOf(source, kind.head(prefix), shape.hiddenSize) : null;
  return { shape, head, weights: { source, prefix } };
}

/** Reads a JSON file of the input. Throws `INVALID_MODEL` if it is missing or not JSON. */
export async function readJson<Content>(folder: string, name: string): Promise<Content> {
  const file = await InputFile.open(folder, name);
  try {
    return JSON.parse(Buffer.from(await file.read(0, file.bytes)).toString('utf8')) as Content;
  } catch (error) {
    throw error instanceof SyntaxError ? invalidFile(name, 'it is not JSON') : error;
  } finally {
    await file.close();
  }
}

function kindOf(settings: EncoderSettings, types: readonly string[]): BertKind {
  const kind = types.includes(settings.type) && Object.hasOwn(kinds, settings.type) ? kinds[settings.type] : undefined;
  if (kind !== undefined) return kind;
  throw settings.refuse(`its model_type is ${settings.type}, not ${types.join(', ')}`);
}

function shapeOf(settings: EncoderSettings, kind: BertKind): BertShape {
  const position = settings.config.position_embedding_type;
  if (position !== undefined && position !== 'absolute') throw settings.refuse(`its positions are ${String(position)}`);
  const positionOffset = kind.hasPositionOffset ? settings.number(1, 'pad_token_id') + 1 : 0;
  return {
    layers: settings.size('layers', 'num_hidden_layers'),
    hiddenSize: settings.size('hiddenSize', 'hidden_size'),
    heads: settings.size('heads', 'num_attention_heads'),
    feedForwardSize: settings.size('feedForwardSize', 'intermediate_size'),
    vocabularySize: settings.size('vocabularySize', 'vocab_size'),
    positions: settings.size('positions', 'max_position_embeddings') - positionOffset,
    positionOffset,
    tokenTypes: kind.hasTypes ? settings.size('tokenTypes', 'type_vocab_size') : 0,
    takesTypes: kind.takesTypes,
    relativeBuckets: kind.hasRelativeBias ? settings.number(32, 'relative_attention_num_buckets') : null,
    epsilon: settings.number(1e-12, 'layer_norm_eps'),
    activation: settings.activation(['gelu', 'gelu-tanh'], 'hidden_act'),
    names: kind.names,
  };
}

/** The head of most cross-encoders: a dense layer with tanh over the first token, then the score. */
function headOf(
  source: EncoderTensors,
  { dense, output }: Pick<ClassifierHead, 'dense' | 'output'>,
  size: number,
): ClassifierHead {
  checkOneScore(source, output, size);
  return {
    pooling: 'cls',
    dense,
    hasBias: source.has(`${dense}.bias`),
    activation: 'tanh',
    norm: null,
    output,
    hasOutputBias: source.has(`${output}.bias`),
  };
}

/** Throws `INVALID_MODEL` for a classifier with several classes: only a score is an order of documents. */
export function checkOneScore(source: EncoderTensors, output: string, size: number): void {
  const found = source.shapeOf(`${output}.weight`);
  if (found.join() === `1,${size}`) return;
  const reason = `${output}.weight is [${found.join(', ')}]: a classifier with ${found[0] ?? 0} classes, where rerankers have one score`;
  throw invalidFile(weightsFile, reason);
}

/** Returns the first prefix under which a tensor is there. Throws `INVALID_MODEL` if there is none. */
export function findPrefix(weights: EncoderTensors, prefixes: readonly string[], name: string): string {
  const prefix = prefixes.find((each) => weights.has(each + name));
  if (prefix === undefined) throw invalidFile(weightsFile, `it has no ${name}`);
  return prefix;
}

function tableSizes(shape: BertShape, prefix: string, settings: EncoderSettings): Record<string, number[]> {
  const { hiddenSize, feedForwardSize, vocabularySize, positions, positionOffset, tokenTypes } = shape;
  const { relativeBuckets, heads } = shape;
  const sizes: Record<string, number[]> = {
    'embeddings.word_embeddings.weight': [vocabularySize, hiddenSize],
    'embeddings.position_embeddings.weight': [positions + positionOffset, hiddenSize],
    ...(tokenTypes > 0 && { 'embeddings.token_type_embeddings.weight': [tokenTypes, hiddenSize] }),
    ...(relativeBuckets !== null && { 'encoder.relative_attention_bias.weight': [relativeBuckets, heads] }),
    [`encoder.layer.${shape.layers - 1}.intermediate.dense.weight`]: [feedForwardSize, hiddenSize],
  };
  if (hiddenSize % heads !== 0) throw settings.refuse(`${heads} heads do not divide a size of ${hiddenSize}`);
  return Object.fromEntries(Object.entries(sizes).map(([name, size]) => [prefix + name, size]));
}

/** Checks sizes, because a file of another model would convert silently and return wrong vectors. */
export function checkSizes(weights: EncoderTensors, sizes: Record<string, number[]>): void {
  for (const [name, expected] of Object.entries(sizes)) {
    const found = weights.shapeOf(name);
    if (found.join() === expected.join()) continue;
    throw invalidFile(weightsFile, `${name} is [${found.join(', ')}] where config.json says [${expected.join(', ')}]`);
  }
}
