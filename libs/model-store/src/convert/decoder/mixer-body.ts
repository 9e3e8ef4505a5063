import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import type { DecoderShape } from './decoder-shape.js';
import type { LinearFormat, LinearLayer } from './linear-layer.js';
import type { WeightSource } from './weight-source.js';

/** The members of the decoder that a layer without attention needs. */
export interface MixerBody {
  readonly builder: GraphBuilder;
  readonly options: { shape: DecoderShape; weights: WeightSource };
  /** Adds a linear layer of the weights, with its bias. */
  linear(input: ValueName, layer: LinearLayer, hasBias: boolean, format?: LinearFormat): ValueName;
  /** Adds a vector of the weights. */
  vector(name: string, size: number): ValueName;
}

/** The states of layers that do not attend, which differ between the layouts. */
export interface LayerStates {
  /**
   * Puts the last inputs of the past before the new ones, `[batch, sequence, hidden]`. Returns
   * `[batch, length - 1 + sequence, hidden]`, and keeps the last inputs for the next run.
   */
  withPastInputs(layer: number, input: ValueName, length: number): ValueName;
  /** Returns a state of a layer before the run, and the name of what it must be behind the last token. */
  state(layer: number, name: string): { past: ValueName; present: ValueName };
  /** Returns `[batch, sequence, 1]`: 1 for the tokens of a row, 0 for the padding behind them. */
  tokenMask(): ValueName;
}
