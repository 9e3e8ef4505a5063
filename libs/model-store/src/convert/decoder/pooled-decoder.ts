import { bytesOf, type OnnxGraph, type ValueName } from '../../onnx/index.js';
import { onnxDataTypeCode } from '../../onnx/onnx-types.js';
import { emitSentenceHead, poolTokens, type SentenceHead } from '../sentence/sentence-head.js';
import { DecoderBody, type DecoderOptions, type Projections } from './decoder-body.js';
import { emitWholeAttention } from './whole-attention.js';

/** Mask value: far below any score. */
const masked = -60000;

/** The layer that gives the score of a text from the vector of its last token. */
export interface ScoreHead {
  /** Returns as many values as the hidden size. */
  weights: () => Promise<Float32Array>;
}

/** The part behind the layers of a decoder that writes no text. */
export type PooledHead = { kind: 'embedding'; head: SentenceHead } | { kind: 'rerank'; head: ScoreHead };

/**
 * A decoder that reads whole texts at once, so it has no cache and no output layer:
 *
 * - input `input_ids`, `attention_mask`: int64 [batch, sequence], with the padding behind the tokens
 * - output `sentence_embedding`: [batch, dimensions], or of a reranker `logits`: [batch, 1]
 */
export function emitPooledDecoder(options: DecoderOptions, pooled: PooledHead): OnnxGraph {
  if (options.linear.kind === 'float16') throw new Error('The graph of embeddings computes in float32.');
  // No output layer is emitted, so the embeddings are alone in their table.
  return new PooledDecoder(new DecoderBody('pooled-decoder', { ...options, sharesTable: false })).emit(pooled);
}

class PooledDecoder {
  /** `[sequence]`: 0, 1, … */
  private readonly steps: ValueName;
  /** `[batch, sequence]`. */
  private readonly positions: ValueName;
  /** Masks by the window of their layers; 0: none. */
  private readonly masks = new Map<number, ValueName>();

  constructor(private readonly body: DecoderBody) {
    const { builder } = body;
    for (const name of ['input_ids', 'attention_mask']) builder.input(name, 'int64', ['batch', 'sequence']);
    const shape = builder.node('Shape', ['input_ids']);
    const length = builder.node('Gather', [shape, builder.integers(1)]);
    this.steps = builder.node('Range', [builder.integers(0), length, builder.integers(1)]);
    this.positions = builder.node('Expand', [this.steps, shape]);
  }

  emit(pooled: PooledHead): OnnxGraph {
    const { builder, options } = this.body;
    const { hiddenSize } = options.shape;
    const hidden = this.body.emitLayers((layer, projections) => this.attend(layer, projections));
    const tokens = { hidden, mask: 'attention_mask', size: hiddenSize };
    if (pooled.kind === 'embedding') {
      emitSentenceHead(builder, pooled.head, tokens);
      return builder.build();
    }
    const { weights } = pooled.head;
    const content = async function* (): AsyncGenerator<Uint8Array> {
      yield bytesOf(await weights());
    };
    const score = builder.weight('score', 'float32', [hiddenSize, 1], content);
    builder.output('logits', 'float32', ['batch', 1]);
    builder.node('MatMul', [poolTokens(builder, 'last', tokens), score], {}, 'logits');
    return builder.build();
  }

  private attend(layer: number, projections: Projections): ValueName {
    const { body } = this;
    const { builder } = body;
    const { heads, keyValueHeads } = body.options.shape;
    const { key, value } = projections;
    if (key === null) throw new Error('This layout has keys in every layer.');
    const query = body.splitHeads(body.rotateQuery(layer, projections.query, this.positions), heads);
    const keys = body.splitHeads(body.rotateKey(layer, key, this.positions), keyValueHeads);
    const values = value === null ? keys : body.splitHeads(value, keyValueHeads);
    return emitWholeAttention(body, { query, keys, values }, (scores) =>
      builder.node('Softmax', [builder.node('Add', [scores, this.maskOf(layer)])], { axis: -1 }),
    );
  }

  private maskOf(layer: number): ValueName {
    const window = this.body.windowOf(layer)?.size ?? 0;
    const mask = this.masks.get(window) ?? this.emitMask(window);
    this.masks.set(window, mask);
    return mask;
  }

  /**
   * Adds a mask: zero where a token looks, far below zero elsewhere. It broadcasts to
   * `[batch, kv_heads, group, sequence, sequence]`. The padding is behind the tokens, so only a model that looks ahead
   * has to leave it out.
   */
  private emitMask(window: number): ValueName {
    const { body, steps } = this;
    const { builder } = body;
    const isAhead = body.options.shape.attention?.bidirectional === true;
    const rows = builder.node('Unsqueeze', [steps, builder.integers([1])]);
    const columns = builder.node('Unsqueeze', [steps, builder.integers([0])]);
    const conditions: ValueName[] = isAhead ? [this.isToken()] : [builder.node('LessOrEqual', [columns, rows])];
    if (window > 0) {
      const isChunked = body.options.shape.attention?.window?.chunked === true;
      const distance = builder.node('Abs', [builder.node('Sub', [columns, rows])]);
      const isNear = isChunked
        ? builder.node('Greater', [columns, body.lastHidden(rows, window)])
        : builder.node('Less', [distance, builder.integers(window)]);
      conditions.push(isNear);
    }
    const [first = '', ...others] = conditions;
    const seen = others.reduce((left, right) => builder.node('And', [left, right]), first);
    return builder.node('Where', [seen, body.scalar(0), body.scalar(masked)]);
  }

  /** `[batch, 1, 1, 1, sequence]`. */
  private isToken(): ValueName {
    const { builder } = this.body;
    const present = builder.node('Cast', ['attention_mask'], { to: onnxDataTypeCode.bool });
    return builder.node('Unsqueeze', [present, builder.integers([1, 2, 3])]);
  }
}
