import type { ValueName } from '../../onnx/index.js';
import { emitExperts, emitLinear, type ExpertBody, weightNames, type WeightSource } from '../decoder/index.js';
import type { EncoderActivation, EncoderParts } from './encoder-parts.js';

/** Layers of an encoder whose tokens are computed by a few of many feed-forwards, as in nomic-embed-text-v2-moe. */
export interface EncoderExperts {
  count: number;
  /** Experts of one token. Their weights are shares of all experts, so they add up to less than one. */
  used: number;
  /** Says of each layer whether it has experts. */
  layers: readonly boolean[];
}

/** Names of the tensors of a layer with experts. */
export interface ExpertTensors {
  /** `[experts, hidden]`. */
  router: string;
  /** `[experts × feed-forward, hidden]`. */
  up: string;
  /** `[experts × feed-forward, hidden]`, or `[experts, hidden, feed-forward]` as llama.cpp turns it. */
  down: string;
  /** Of all experts together; may be missing. */
  bias: string;
}

/** Returns the names of Nomic; `layer` is in front of them. */
export function expertTensors(layer: string): ExpertTensors {
  return {
    router: `${layer}mlp.router.layer.weight`,
    up: `${layer}mlp.experts.mlp.w1`,
    down: `${layer}mlp.experts.mlp.w2`,
    bias: `${layer}mlp.experts.bias`,
  };
}

export interface ExpertLayer {
  experts: EncoderExperts;
  /** Full names. */
  tensors: ExpertTensors;
  hasBias: boolean;
  /** True for `down` as llama.cpp turns it. */
  isDownTurned: boolean;
  hiddenSize: number;
  /** Of one expert. */
  feedForwardSize: number;
  activation: EncoderActivation;
}

const float32 = { kind: 'float32' } as const;

/** Adds the feed-forward of a layer with experts, as decoders have it, and the bias that follows their sum. */
export function emitEncoderExperts(
  parts: EncoderParts,
  layer: number,
  { experts, tensors, hasBias, isDownTurned, hiddenSize, feedForwardSize, activation }: ExpertLayer,
  input: ValueName,
): ValueName {
  const { builder, source } = parts;
  const { count, used } = experts;
  const weights = new ExpertSource(source, layer, { tensors, isDownTurned, hiddenSize, feedForwardSize });
  const shape = { scoring: 'softmax', selectionBias: false, normalized: false, bias: false } as const;
  const body: ExpertBody = {
    builder,
    options: { shape: { hiddenSize, feedForward: { kind: 'gelu', size: feedForwardSize } }, weights },
    formatOf: () => float32,
    linear: (value, linear) => emitLinear(builder, weights, float32, value, linear),
    gated: (gate, up) => builder.node('Mul', [parts.activate(gate, activation), up]),
    activated: (value) => parts.activate(value, activation),
    vector: (name, size) => parts.vector(name, size),
  };
  const mixed = emitExperts(body, layer, { count, used, ...shape }, input);
  return hasBias ? parts.bias(mixed, { name: tensors.bias, outputs: hiddenSize }) : mixed;
}

/** The tensors of one layer by the names of decoders. */
class ExpertSource implements WeightSource {
  private readonly names: ReadonlyMap<string, string>;

  constructor(
    private readonly source: WeightSource,
    layer: number,
    private readonly layout: Pick<ExpertLayer, 'tensors' | 'isDownTurned' | 'hiddenSize' | 'feedForwardSize'>,
  ) {
    const { router, up, down } = layout.tensors;
    this.names = new Map([
      [weightNames.layer(layer, 'router'), router],
      [weightNames.layer(layer, 'expert_up'), up],
      [weightNames.layer(layer, 'expert_down'), down],
    ]);
  }

  async rows(name: string, from: number, to: number): Promise<Float32Array> {
    const { tensors, isDownTurned } = this.layout;
    const stored = this.find(name);
    return stored === tensors.down && !isDownTurned ? this.columns(from, to) : this.source.rows(stored, from, to);
  }

  vector(name: string): Promise<Float32Array> {
    return this.source.vector(this.find(name));
  }

  /** Returns rows of the outputs of one expert, whose matrix is stored by its inputs. */
  private async columns(from: number, to: number): Promise<Float32Array> {
    const { tensors, hiddenSize, feedForwardSize } = this.layout;
    const expert = Math.floor(from / hiddenSize);
    const first = expert * feedForwardSize;
    const stored = await this.source.rows(tensors.down, first, first + feedForwardSize);
    const start = from - expert * hiddenSize;
    return Float32Array.from({ length: (to - from) * feedForwardSize }, (_, cell) => {
      const output = start + Math.floor(cell / feedForwardSize);
      return stored[(cell % feedForwardSize) * hiddenSize + output] as number;
    });
  }

  private find(name: string): string {
    const found = this.names.get(name);
    if (found === undefined) throw new Error(`${name} is no tensor of experts.`);
    return found;
  }
}
