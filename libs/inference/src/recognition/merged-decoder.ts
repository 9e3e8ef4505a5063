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

const pastPattern = /^past_key_values\.(\d+)\.(decoder|encoder)\.(key|value)$/;

/**
 * The decoder half of an encoder-decoder model, exported with both of its branches in one graph (`use_cache_branch`):
 * the first run computes the keys and values of what the encoder heard, later ones reuse them.
 */
export class MergedDecoder {
  readonly vocabularySize: number;
  /** Layers whose cross attention the graph returns. */
  readonly attentionLayers: ReadonlySet<number>;
  private readonly pastNames: string[];
  private readonly emptyPast: Record<string, GraphTensor>;

  /** Throws `INVALID_MODEL` for a graph of another layout. */
  constructor(private readonly session: GraphSession) {
    const past = session.inputs.filter(({ name }) => pastPattern.test(name));
    const logits = session.outputs.find(({ name }) => name === 'logits');
    const hasBranch = session.inputs.some(({ name }) => name === 'use_cache_branch');
    const vocabularySize = logits?.shape.at(-1);
    if (past.length === 0 || !hasBranch || typeof vocabularySize !== 'number' || logits?.type !== 'float32') {
      throw invalidGraph('its decoder is not a merged decoder with float32 logits');
    }
    this.vocabularySize = vocabularySize;
    this.pastNames = past.map(({ name }) => name);
    this.emptyPast = Object.fromEntries(past.map((input) => [input.name, emptyPast(session, input)]));
    const layers = session.outputs.map(({ name }) => /^cross_attentions\.(\d+)$/.exec(name)?.[1]);
    this.attentionLayers = new Set(layers.filter((layer) => layer !== undefined).map(Number));
  }

  /** Begins a text over what the encoder heard. */
  begin(heard: GraphTensor): DecoderText {
    return new DecoderText(this, heard);
  }

  /** One run. `past` null: the first of a text. */
  async run(
    heard: GraphTensor,
    ids: readonly number[],
    { past, attentionLayers }: { past: Record<string, GraphTensor> | null; attentionLayers: readonly number[] },
  ): Promise<{ step: DecoderStep; present: Record<string, GraphTensor> }> {
    const { session } = this;
    const kept = this.pastNames.filter((name) => past === null || name.includes('.decoder.'));
    const attentions = attentionLayers.map((layer) => `cross_attentions.${layer}`);
    const feeds = {
      ...(past ?? this.emptyPast),
      input_ids: session.tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
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
}

/** One text on its way: the tokens so far are in its cache. */
export class DecoderText {
  private past: Record<string, GraphTensor> | null = null;

  constructor(
    private readonly decoder: MergedDecoder,
    private readonly heard: GraphTensor,
  ) {}

  /** Feeds tokens; all of the prompt at first, then one at a time. */
  async feed(ids: readonly number[], attentionLayers: readonly number[] = []): Promise<DecoderStep> {
    const { step, present } = await this.decoder.run(this.heard, ids, { past: this.past, attentionLayers });
    this.past = present;
    return step;
  }
}

function presentName(name: string): string {
  return name.replace('past_key_values', 'present');
}

function emptyPast(session: GraphSession, { type, shape }: TensorDescription): GraphTensor {
  const [, heads, , size] = shape;
  if (type !== 'float32' || typeof heads !== 'number' || typeof size !== 'number') {
    throw invalidGraph('its decoder keeps no float32 cache of known size');
  }
  return session.tensor('float32', new Float32Array(0), [1, heads, 0, size]);
}

function invalidGraph(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's graph cannot be used: ${reason}.`);
}
