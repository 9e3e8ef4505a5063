import { invalidFile } from '../invalid-file.js';
import type { ModelFiles } from '../safetensors/model-files.js';
import { type AlibiNames, alibiNames, type AlibiShape, type AlibiWeights } from './alibi-encoder.js';
import { checkSizes, type EncoderTensors, findPrefix } from './bert-files.js';
import type { EncoderSettings } from './encoder-config.js';
import { SafetensorsFile } from './safetensors-file.js';

/* Encoders of the type `bert` whose positions are ALiBi: Jina v2. */

const english: AlibiNames = {
  queryNorm: null,
  keyNorm: null,
  secondNorm: null,
  activated: { name: 'mlp.gated_layers', part: 0 },
  multiplied: { name: 'mlp.gated_layers', part: 1 },
  down: 'mlp.wo',
  feedForwardNorm: 'mlp.layernorm',
};

/** The layouts of published files; a file has the one whose gate it has. */
const layouts: readonly AlibiNames[] = [
  english,
  // GGUF files of 2024 have the halves apart.
  { ...english, activated: { name: 'mlp.gated_layers_w' }, multiplied: { name: 'mlp.gated_layers_v' } },
  // The model for code.
  {
    queryNorm: 'attention.self.layer_norm_q',
    keyNorm: 'attention.self.layer_norm_k',
    secondNorm: 'layer_norm_1',
    activated: { name: 'mlp.up_gated_layer', part: 1 },
    multiplied: { name: 'mlp.up_gated_layer', part: 0 },
    down: 'mlp.down_layer',
    feedForwardNorm: 'layer_norm_2',
  },
];

/** The weights of an encoder and its shape. */
export interface AlibiModel<Source extends EncoderTensors> {
  shape: AlibiShape;
  head: null;
  weights: AlibiWeights & { source: Source };
}

/** True for settings of such an encoder. */
export function isAlibi({ type, config }: EncoderSettings): boolean {
  return type === 'bert' && config['position_embedding_type'] === 'alibi';
}

/** Opens `model.safetensors`. Throws `INVALID_MODEL` if it does not match the settings. The caller closes the weights. */
export async function openAlibiFiles(
  files: ModelFiles,
  settings: EncoderSettings,
): Promise<AlibiModel<SafetensorsFile>> {
  sizesOf(settings);
  const source = await SafetensorsFile.open(files);
  try {
    return readAlibi(settings, source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Reads shape and names only. Throws `INVALID_MODEL` if tensors and settings do not match. */
export function readAlibi<Source extends EncoderTensors>(
  settings: EncoderSettings,
  source: Source,
): AlibiModel<Source> {
  const sizes = sizesOf(settings);
  const prefix = findPrefix(source, ['', 'bert.'], `${alibiNames.words}.weight`);
  const first = prefix + alibiNames.layer(0);
  const names = layouts.find(({ activated }) => source.has(`${first}${activated.name}.weight`));
  if (names === undefined) {
    const known = layouts.map(({ activated }) => activated.name).join(', ');
    throw invalidFile('model.safetensors', `it has ALiBi positions and none of ${known}`);
  }
  const shape = { ...sizes, names };
  checkSizes(source, tensorSizes(shape, prefix));
  return { shape, head: null, weights: { source, prefix } };
}

const maxLayers = 1_024;

function sizesOf(settings: EncoderSettings): Omit<AlibiShape, 'names'> {
  const { feed_forward_type: feedForward } = settings.config;
  if (feedForward !== 'geglu') throw settings.refuse(`its feed_forward_type is ${String(feedForward)}, not geglu`);
  if (settings.isClassifier) throw settings.refuse('it is a classifier with ALiBi positions');
  const layers = settings.size('layers', 'num_hidden_layers');
  if (layers > maxLayers) throw settings.refuse(`${layers} layers are more than ${maxLayers}`);
  const [hiddenSize, heads] = [
    settings.size('hiddenSize', 'hidden_size'),
    settings.size('heads', 'num_attention_heads'),
  ];
  if (hiddenSize % heads !== 0) throw settings.refuse(`${heads} heads do not divide a size of ${hiddenSize}`);
  return {
    layers,
    hiddenSize,
    heads,
    feedForwardSize: settings.size('feedForwardSize', 'intermediate_size'),
    vocabularySize: settings.size('vocabularySize', 'vocab_size'),
    positions: settings.size('positions', 'max_position_embeddings'),
    hasTypes: settings.number(0, 'type_vocab_size') > 0,
    epsilon: settings.number(1e-12, 'layer_norm_eps'),
  };
}

function tensorSizes(shape: AlibiShape, prefix: string): Record<string, number[]> {
  const { names, hiddenSize, feedForwardSize, vocabularySize } = shape;
  const last = prefix + alibiNames.layer(shape.layers - 1);
  const isJoined = names.activated.part !== undefined;
  const gains = [names.queryNorm, names.keyNorm, names.secondNorm].filter((norm) => norm !== null);
  return {
    [`${prefix}${alibiNames.words}.weight`]: [vocabularySize, hiddenSize],
    [`${last}${alibiNames.query}.weight`]: [hiddenSize, hiddenSize],
    [`${last}${names.activated.name}.weight`]: [(isJoined ? 2 : 1) * feedForwardSize, hiddenSize],
    [`${last}${names.down}.weight`]: [hiddenSize, feedForwardSize],
    ...Object.fromEntries(gains.map((norm) => [`${last}${norm}.weight`, [hiddenSize]])),
  };
}
