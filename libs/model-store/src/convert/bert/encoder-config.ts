import { invalidFile } from '../invalid-file.js';
import type { EncoderActivation } from './encoder-parts.js';

export const configFile = 'config.json';

/** Members of config.json, by the names that published models give them. */
export interface EncoderConfig extends Record<string, unknown> {
  model_type?: string;
  architectures?: string[];
}

const activations: Record<string, EncoderActivation> = {
  gelu: 'gelu',
  gelu_new: 'gelu-tanh',
  gelu_pytorch_tanh: 'gelu-tanh',
  silu: 'silu',
  swish: 'silu',
  swiglu: 'silu',
  geglu: 'gelu',
};

/** Reads settings of an encoder. Throws `INVALID_MODEL` naming what is missing. */
export class EncoderSettings {
  constructor(readonly config: EncoderConfig) {}

  get type(): string {
    return this.config.model_type ?? 'bert';
  }

  /** True for a model with a classifier behind the encoder. */
  get isClassifier(): boolean {
    return this.config.architectures?.[0]?.endsWith('ForSequenceClassification') === true;
  }

  /** Returns a size under the first of its names that is there. */
  size(label: string, ...names: string[]): number {
    const value = names.map((name) => this.config[name]).find((each) => each !== undefined && each !== null);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
    throw this.refuse(`it does not say how large ${label} is`);
  }

  number(otherwise: number, ...names: string[]): number {
    const value = names.map((name) => this.config[name]).find((each) => typeof each === 'number');
    return typeof value === 'number' ? value : otherwise;
  }

  activation<Known extends EncoderActivation>(known: readonly Known[], ...names: string[]): Known {
    const given = names.map((name) => this.config[name]).find((each) => typeof each === 'string') ?? 'gelu';
    const named = Object.hasOwn(activations, given as string) ? activations[given as string] : undefined;
    const found = known.find((each) => each === named);
    if (found === undefined) throw this.refuse(`its activation is ${String(given)}`);
    return found;
  }

  refuse(reason: string): Error {
    return invalidFile(configFile, reason);
  }
}
