import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import type { ValueName } from '../../onnx/index.js';
import type { EncoderActivation, EncoderParts } from './encoder-parts.js';

/** The layers between the tokens of an encoder and its one score. */
export interface ClassifierHead {
  /** Which vector represents the text. */
  pooling: 'cls' | 'mean';
  /** Name of the dense layer; its bias may be missing. */
  dense: string;
  hasBias: boolean;
  activation: EncoderActivation;
  /** Name of the norm behind it, if there is one. */
  norm: { name: string; hasBias: boolean } | null;
  /** Name of the layer with one output. */
  output: string;
  hasOutputBias: boolean;
}

/** Adds `logits`, `[batch, 1]`, over `[batch, sequence, hidden]`. The mask is 1 for tokens, 0 for padding. */
export function emitClassifierHead(
  parts: EncoderParts,
  head: ClassifierHead,
  { hidden, mask, size }: { hidden: ValueName; mask: ValueName; size: number },
): void {
  const { builder } = parts;
  const pooled = head.pooling === 'cls' ? firstToken(parts, hidden) : meanToken(parts, hidden, mask);
  const dense = parts.linear(pooled, { name: `${head.dense}.weight`, inputs: size, outputs: size });
  const biased = head.hasBias ? parts.bias(dense, { name: `${head.dense}.bias`, outputs: size }) : dense;
  const active = parts.activate(biased, head.activation);
  const normed = head.norm === null ? active : parts.layerNorm(active, { ...head.norm, size });
  const score = parts.linear(normed, { name: `${head.output}.weight`, inputs: size, outputs: 1 });
  builder.output('logits', 'float32', ['batch', 1]);
  const bias = head.hasOutputBias ? parts.vector(`${head.output}.bias`, 1) : builder.float(0);
  builder.node('Add', [score, bias], {}, 'logits');
}

function firstToken({ builder }: EncoderParts, hidden: ValueName): ValueName {
  return builder.node('Gather', [hidden, builder.integers(0)], { axis: 1 });
}

function meanToken({ builder }: EncoderParts, hidden: ValueName, mask: ValueName): ValueName {
  const floats = builder.node('Cast', [mask], { to: onnxDataTypeCode.float32 });
  const present = builder.node('Unsqueeze', [floats, builder.integers([2])]);
  const sum = (value: ValueName): ValueName =>
    builder.node('ReduceSum', [value, builder.integers([1])], { keepdims: 0 });
  return builder.node('Div', [sum(builder.node('Mul', [hidden, present])), sum(present)]);
}
