import { PlatformError } from '#common';
import type { GraphSession, GraphTensor, TensorDescription } from '../runtime/graph-session.js';

/** What one run of the decoder says. */
export interface DecoderStep {
  /** One row of `vocabularySize` per token that was fed. The caller may write into it. */
  logits: Float32Array;
  tokens: number;
  /** By layer: `[heads, tokens, encoder positions]`, for the layers that were asked for. */
  crossAttentions: Map<number, { data: Float32Array; heads: number; positions: number }>;
}

/** What every run of a text is given. */
export interface DecoderInputs {
  /** What the encoder heard, a row per text that is decoded beside others. */
  heard: GraphTensor;
  /** Rows of ids: one per text, more where a text has several streams. Default 1. */
  idRows: number;
  /** Further inputs of the graph. */
  more: Readonly<Record<string, GraphTensor>>;
}

const pastPattern = /^past_key_values\.(\d+)\.(decoder|encoder)\.(key|value)$/;

/**
 * The decoder half of an encoder-decoder model, exported with both of its branches in one graph (`use_cache_branch`):
 * the first run computes the keys and values of what the encoder heard, later ones reuse them.
 */
export class MergedDecoder {
  readonly vocabularySize: number;
  /** Layers whose cross attention the graph returns. */
  readonly attentionLayers: ReadonlySet<number>;
  private readonly past: TensorDescription[];
  private readonly pastNames: string[];

  /**
   * `vocabularySize` is for exports whose logits do not tell it. Throws `INVALID_MODEL` for a graph of another layout.
   */
  constructor(
    private readonly session: GraphSession,
    known: { vocabularySize?: number } = {},
  ) {
    const past = session.inputs.filter(({ name }) => pastPattern.test(name));
    const logits = session.outputs.find(({ name }) => name === 'logits');
    const hasBranch = session.inputs.some(({ name }) => name === 'use_cache_branch');
    const vocabularySize = known.vocabularySize ?? logits?.shape.at(-1);
    if (past.length === 0 || !hasBranch || typeof vocabularySize !== 'number' || logits?.type !== 'float32') {
      throw invalidGraph('its decoder is not a merged decoder with float32 logits');
    }
    this.vocabularySize = vocabularySize;
    this.past = past;
    this.pastNames = past.map(({ name }) => name);
    this.emptyPast(1);
    const layers = session.outputs.map(({ name }) => /^cross_attentions\.(\d+)$/.exec(name)?.[1]);
    this.attentionLayers = new Set(layers.filter((layer) => layer !== undefined).map(Number));
  }

  /** Begins a text over what the encoder heard. */
  begin(heard: GraphTensor, { idRows = 1, more = {} }: Partial<DecoderInputs> = {}): DecoderText {
    return new DecoderText(this, { heard, idRows, more });
  }

  /** One run. `past` null: the first of a text. */
  async run(
    { heard, idRows, more }: DecoderInputs,
    ids: readonly number[],
    { past, attentionLayers }: { past: Record<string, GraphTensor> | null; attentionLayers: readonly number[] },
  ): Promise<{ step: DecoderStep; present: Record<string, GraphTensor> }> {
    const { session } = this;
    const kept = this.pastNames.filter((name) => past === null || name.includes('.decoder.'));
    const attentions = attentionLayers.map((layer) => `cross_attentions.${layer}`);
    const feeds = {
      ...(past ?? this.emptyPast(heard.dims[0] ?? 1)),
      ...more,
      input_ids: session.tensor('int64', BigInt64Array.from(ids, BigInt), [idRows, ids.length / idRows]),
      encoder_hidden_states: heard,
      use_cache_branch: session.tensor('bool', Uint8Array.of(past === null ? 0 : 1), [1]),
    };
    const outputs = await session.run(feeds, ['logits', ...kept.map(presentName), ...attentions]);
    const crossAttentions: DecoderStep['crossAttentions'] = new Map();
    for (const layer of attentionLayers) {
      const tensor = outputs[`cross_attentions.${layer}`];
      const [, heads = 0, , positions = 0] = tensor?.dims ?? [];
      crossAttentions.set(layer, { data: tensor?.data as Float32Array, heads, positions });
    }
    const present = Object.fromEntries(kept.map((name) => [name, outputs[presentName(name)] as GraphTensor]));
    const logits = outputs.logits?.data as Float32Array;
    return { step: { logits, tokens: ids.length, crossAttentions }, present: { ...past, ...present } };
  }

  release(): Promise<void> {
    return this.session.release();
  }

  private emptyPast(rows: number): Record<string, GraphTensor> {
    return Object.fromEntries(this.past.map((input) => [input.name, emptyPast(this.session, input, rows)]));
  }
}

/** One text on its way: the tokens so far are in its cache. */
export class DecoderText {
  private past: Record<string, GraphTensor> | null = null;

  constructor(
    private readonly decoder: MergedDecoder,
    private readonly inputs: DecoderInputs,
  ) {}

  /** Feeds tokens, row by row; all of the prompt at first, then one at a time. */
  async feed(ids: readonly number[], attentionLayers: readonly number[] = []): Promise<DecoderStep> {
    const { step, present } = await this.decoder.run(this.inputs, ids, { past: this.past, attentionLayers });
    this.past = present;
    return step;
  }
}

function presentName(name: string): string {
  return name.replace('past_key_values', 'present');
}

function emptyPast(session: GraphSession, { type, shape }: TensorDescription, rows: number): GraphTensor {
  const [, heads, , size] = shape;
  if (type !== 'float32' || typeof heads !== 'number' || typeof size !== 'number') {
    throw invalidGraph('its decoder keeps no float32 cache of known size');
  }
  return session.tensor('float32', new Float32Array(0), [rows, heads, 0, size]);
}

function invalidGraph(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's graph cannot be used: ${reason}.`);
}
