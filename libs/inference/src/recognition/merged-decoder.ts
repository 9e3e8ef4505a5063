import { PlatformError } from '#common';
import {
  type GraphSession,
  type GraphTensor,
  isKept,
  releaseKept,
  runKeeping,
  type TensorDescription,
} from '../runtime/graph-session.js';

/** Output of one decoder run. */
export interface DecoderStep {
  /** One row of `vocabularySize` per fed token. Callers may overwrite it. */
  logits: Float32Array;
  tokens: number;
  /** By layer: `[heads, tokens, encoder positions]`, for the requested layers. */
  crossAttentions: Map<number, { data: Float32Array; heads: number; positions: number }>;
}

/** Inputs shared by all runs of a text. */
export interface DecoderInputs {
  /** Encoder output, one row per text of the batch. */
  encoded: GraphTensor;
  /** Rows of ids: one per text, more if a text has several streams. Default 1. */
  idRows: number;
  /** Additional inputs of the graph. */
  more: Readonly<Record<string, GraphTensor>>;
}

const pastPattern = /^past_key_values\.(\d+)\.(decoder|encoder)\.(key|value)$/;

/**
 * Decoder of an encoder-decoder model, exported with both branches in one graph (`use_cache_branch`). The first run
 * computes the keys and values of the encoder output; later runs reuse them. On a device, both stay there.
 */
export class MergedDecoder {
  readonly vocabularySize: number;
  /** Layers whose cross attention the graph returns. */
  readonly attentionLayers: ReadonlySet<number>;
  private readonly past: TensorDescription[];
  private readonly pastNames: string[];

  /**
   * `vocabularySize` is for exports whose logits have no static size. Throws `INVALID_MODEL` for an unsupported graph
   * layout.
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

  /** Returns the output of an encoder for `begin`. It stays on the device if this decoder is there; `releaseKept` ends it. */
  async encode(encoder: GraphSession, feeds: Record<string, GraphTensor>, output: string): Promise<GraphTensor> {
    const isBeside = this.session.device !== undefined && this.session.provider === encoder.provider;
    const outputs = isBeside
      ? await runKeeping(encoder, feeds, [output], new Set([output]))
      : await encoder.run(feeds, [output]);
    return outputs[output] as GraphTensor;
  }

  /** Copies an encoder output to the device for all runs of a text, if it is not there. */
  upload(encoded: GraphTensor): GraphTensor {
    return isKept(encoded) ? encoded : (this.session.device?.upload(encoded) ?? encoded);
  }

  /** Starts a text for an encoder output. Who starts it releases it. */
  begin(encoded: GraphTensor, { idRows = 1, more = {} }: Partial<DecoderInputs> = {}): DecoderText {
    return new DecoderText(this, { encoded, idRows, more });
  }

  /** Runs the graph once. `past` is null for the first run of a text. */
  async run(
    { encoded, idRows, more }: DecoderInputs,
    ids: readonly number[],
    { past, attentionLayers }: { past: Record<string, GraphTensor> | null; attentionLayers: readonly number[] },
  ): Promise<{ step: DecoderStep; present: Record<string, GraphTensor> }> {
    const { session } = this;
    const kept = this.pastNames.filter((name) => past === null || name.includes('.decoder.'));
    const attentions = attentionLayers.map((layer) => `cross_attentions.${layer}`);
    const feeds = {
      ...(past ?? this.emptyPast(encoded.dims[0] ?? 1)),
      ...more,
      input_ids: session.tensor('int64', BigInt64Array.from(ids, BigInt), [idRows, ids.length / idRows]),
      encoder_hidden_states: encoded,
      use_cache_branch: session.tensor('bool', Uint8Array.of(past === null ? 0 : 1), [1]),
    };
    const presents = kept.map(presentName);
    const fetches = ['logits', ...presents, ...attentions];
    const outputs = await runKeeping(session, feeds, fetches, new Set(presents));
    const crossAttentions: DecoderStep['crossAttentions'] = new Map();
    for (const layer of attentionLayers) {
      const tensor = outputs[`cross_attentions.${layer}`];
      const [, heads = 0, , positions = 0] = tensor?.dims ?? [];
      crossAttentions.set(layer, { data: tensor?.data as Float32Array, heads, positions });
    }
    const present = Object.fromEntries(kept.map((name) => [name, outputs[presentName(name)] as GraphTensor]));
    releaseKept(kept.flatMap((name) => past?.[name] ?? []));
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

/** A text being decoded, with its tokens in the cache. */
export class DecoderText {
  private past: Record<string, GraphTensor> | null = null;
  private readonly inputs: DecoderInputs;
  private readonly ownsEncoded: boolean;

  constructor(
    private readonly decoder: MergedDecoder,
    inputs: DecoderInputs,
  ) {
    const encoded = decoder.upload(inputs.encoded);
    this.inputs = { ...inputs, encoded };
    this.ownsEncoded = encoded !== inputs.encoded;
  }

  /** Feeds tokens row by row: the whole prompt first, then one token at a time. */
  async feed(ids: readonly number[], attentionLayers: readonly number[] = []): Promise<DecoderStep> {
    const { step, present } = await this.decoder.run(this.inputs, ids, { past: this.past, attentionLayers });
    this.past = present;
    return step;
  }

  /** Frees what the text keeps on a device, but not the encoder output that it was given. */
  release(): void {
    releaseKept(Object.values(this.past ?? {}));
    this.past = null;
    if (this.ownsEncoded) releaseKept([this.inputs.encoded]);
  }
}

function presentName(name: string): string {
  return name.replace('past_key_values', 'present');
}

function emptyPast(session: GraphSession, { type, shape }: TensorDescription, rows: number): GraphTensor {
  const [, heads, , size] = shape;
  if (type !== 'float32' || typeof heads !== 'number' || typeof size !== 'number') {
    throw invalidGraph('its decoder has no float32 cache of known size');
  }
  return session.tensor('float32', new Float32Array(0), [rows, heads, 0, size]);
}

function invalidGraph(reason: string): PlatformError {
  return new PlatformError('INVALID_MODEL', `The model's graph cannot be used: ${reason}.`);
}
