import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { DecoderStep, MergedDecoder } from '../../recognition/merged-decoder.js';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { attentionMatrix, type HeadAttention, rowStarts } from './attention-path.js';
import { secondsPerTimestamp } from './segment-splitter.js';
import { splitTokenWords } from './word-splitter.js';
import { probabilityOf } from '../../recognition/token-choice.js';
import type { TimedWord } from './word-timing.js';
import type { WhisperTokens } from './whisper.tokens.js';

export interface AlignRequest {
  heard: GraphTensor;
  language: string | null;
  /** Tokens of the text alone. */
  textTokens: readonly number[];
  /** Seconds of sound in the window. */
  duration: number;
}

const defaultMedianWidth = 7;

/**
 * Finds when each word was said: runs the decoder once over the finished text and follows its attention. Only graphs
 * that return their cross attentions can do it.
 */
export class WordAligner {
  private readonly heads: ReadonlyMap<number, number[]>;

  private constructor(
    private readonly decoder: MergedDecoder,
    private readonly tokens: WhisperTokens,
    heads: readonly [layer: number, head: number][],
  ) {
    const byLayer = new Map<number, number[]>();
    for (const [layer, head] of heads) byLayer.set(layer, [...(byLayer.get(layer) ?? []), head]);
    this.heads = byLayer;
  }

  /** Null where the graph does not return what is needed, or nobody knows which heads to look at. */
  static of(decoder: MergedDecoder, tokens: WhisperTokens): WordAligner | null {
    const heads = tokens.settings.alignment_heads ?? [];
    const hasAll = heads.length > 0 && heads.every(([layer]) => decoder.attentionLayers.has(layer));
    return hasAll ? new WordAligner(decoder, tokens, heads) : null;
  }

  /** The words in order, before punctuation is joined and long words are shortened. */
  async align({ heard, language, textTokens, duration }: AlignRequest, context: TaskContext): Promise<TimedWord[]> {
    const { tokens } = this;
    if (textTokens.length === 0) return [];
    const start = tokens.startSequence(language);
    const fed = [...start, tokens.noTimestamps, ...textTokens, tokens.endOfText];
    await context.yieldToEventLoop();
    const step = await context.measure(() => this.decoder.begin(heard).feed(fed, [...this.heads.keys()]));
    const starts = this.tokenStarts(step, { skipped: start.length, duration });
    const words = splitTokenWords(textTokens, (ids) => tokens.decode(ids), language);
    const size = this.decoder.vocabularySize;
    let at = 0;
    return words.map(({ word, tokens: ids }) => {
      const from = at;
      at += ids.length;
      const probabilities = ids.map((id, index) => {
        const row = (start.length + from + index) * size;
        return probabilityOf(step.logits.subarray(row, row + tokens.endOfText), id);
      });
      const probability = probabilities.reduce((sum, value) => sum + value, 0) / ids.length;
      return { word, tokens: ids, start: starts[from] ?? 0, end: starts[at] ?? 0, probability };
    });
  }

  /** Seconds at which each token of the text begins, and at last the end of the text. */
  private tokenStarts(step: DecoderStep, { skipped, duration }: { skipped: number; duration: number }): number[] {
    const heads: HeadAttention[] = [];
    let max = 0;
    for (const [layer, indices] of this.heads) {
      const attention = step.crossAttentions.get(layer);
      if (attention === undefined) continue;
      const size = step.tokens * attention.positions;
      max = attention.positions;
      for (const head of indices) {
        heads.push({ data: attention.data.subarray(head * size, (head + 1) * size), stride: attention.positions });
      }
    }
    const positions = Math.max(1, Math.min(max, Math.floor(duration / secondsPerTimestamp + 1e-6)));
    const medianWidth = this.tokens.settings.median_filter_width ?? defaultMedianWidth;
    const matrix = attentionMatrix({ heads, tokens: step.tokens, positions, medianWidth });
    // The start of the transcript and the end of the text were said by nobody.
    const rows = step.tokens - skipped - 1;
    const costs = matrix.subarray(skipped * positions, (skipped + rows) * positions).map((value) => -value);
    return [...rowStarts(costs, rows, positions)].map((column) => column * secondsPerTimestamp);
  }
}
