import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { type EncoderActivation, EncoderParts } from '../bert/encoder-parts.js';
import type { WeightSource } from '../decoder/weight-source.js';
import type { SentencePooling } from './sentence-pooling.js';

export { type SentencePooling, sentencePoolings } from './sentence-pooling.js';

/** A layer behind the pooling: `<name>.weight`, `[outputs, inputs]`, and `<name>.bias`. */
export interface DenseLayer {
  name: string;
  inputs: number;
  outputs: number;
  hasBias: boolean;
  activation: EncoderActivation | 'identity';
}

/** The way from the vectors of tokens to that of their text, normalization apart. */
export interface SentenceHead {
  pooling: SentencePooling;
  dense: readonly DenseLayer[];
  /** Weights of the layers. */
  source: WeightSource;
}

/** Token vectors `[batch, sequence, size]`, and the mask `[batch, sequence]`, 64-bit: 1 for tokens, 0 behind them. */
export interface TokenValues {
  hidden: ValueName;
  mask: ValueName;
  size: number;
}

/** Below every value that a layer returns. */
const leastValue = -1e30;

/** Adds the output `sentence_embedding`, `[batch, dimensions]`. */
export function emitSentenceHead(builder: GraphBuilder, head: SentenceHead, tokens: TokenValues): void {
  const parts = new EncoderParts(builder, head.source, 0);
  let vector = poolTokens(builder, head.pooling, tokens);
  let { size } = tokens;
  for (const layer of head.dense) {
    if (layer.inputs !== size) throw new Error(`The layer ${layer.name} takes ${layer.inputs} values, not ${size}.`);
    const product = parts.linear(vector, { ...layer, name: `${layer.name}.weight` });
    const biased = layer.hasBias ? parts.bias(product, { ...layer, name: `${layer.name}.bias` }) : product;
    vector = layer.activation === 'identity' ? biased : parts.activate(biased, layer.activation);
    size = layer.outputs;
  }
  builder.output('sentence_embedding', 'float32', ['batch', size]);
  builder.node('Identity', [vector], {}, 'sentence_embedding');
}

/** Returns one vector per text: `[batch, size]`. */
export function poolTokens(
  builder: GraphBuilder,
  pooling: SentencePooling,
  { hidden, mask }: Omit<TokenValues, 'size'>,
): ValueName {
  const overTokens = builder.integers([1]);
  if (pooling === 'cls') return builder.node('Gather', [hidden, builder.integers(0)], { axis: 1 });
  if (pooling === 'last') {
    const count = builder.node('ReduceSum', [mask, overTokens], { keepdims: 1 });
    const index = builder.node('Sub', [count, builder.integers(1)]);
    return builder.node('GatherND', [hidden, index], { batch_dims: 1 });
  }
  const column = builder.node('Unsqueeze', [mask, builder.integers([2])]);
  if (pooling === 'max') {
    const isToken = builder.node('Cast', [column], { to: onnxDataTypeCode.bool });
    const values = builder.node('Where', [isToken, hidden, builder.float(leastValue)]);
    return builder.node('ReduceMax', [values], { axes: [1], keepdims: 0 });
  }
  const weights = builder.node('Cast', [column], { to: onnxDataTypeCode.float32 });
  const sum = (value: ValueName): ValueName => builder.node('ReduceSum', [value, overTokens], { keepdims: 0 });
  return builder.node('Div', [sum(builder.node('Mul', [hidden, weights])), sum(weights)]);
}
