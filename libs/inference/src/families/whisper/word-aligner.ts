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
  encoded: GraphTensor;
  language: string | null;
  /** Text tokens only. */
  textTokens: readonly number[];
  /** Seconds of audio in the window. */
  duration: number;
}

const defaultMedianWidth = 7;

/**
 * Finds when each word was spoken: runs the decoder once over the finished text and follows its attention. Needs a
 * graph that returns its cross attentions.
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

  /** Returns null if the graph lacks these outputs or the alignment heads are not known. */
  static of(decoder: MergedDecoder, tokens: WhisperTokens): WordAligner | null {
    const heads = tokens.settings.alignment_heads ?? [];
    const hasAll = heads.length > 0 && heads.every(([layer]) => decoder.attentionLayers.has(layer));
    return hasAll ? new WordAligner(decoder, tokens, heads) : null;
  }

  /** Returns the words in order, before punctuation is joined and long words are shortened. */
  async align({ encoded, language, textTokens, duration }: AlignRequest, context: TaskContext): Promise<TimedWord[]> {
    const { tokens } = this;
    if (textTokens.length === 0) return [];
    const start = tokens.startSequence(language);
    const fed = [...start, tokens.noTimestamps, ...textTokens, tokens.endOfText];
    await context.yieldToEventLoop();
    const text = this.decoder.begin(encoded);
    const step = await context.measure(() => text.feed(fed, [...this.heads.keys()])).finally(() => text.release());
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

  /** Returns the start of each text token in seconds, and last the end of the text. */
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
    // The start of the transcript and the end of the text have no audio.
    const rows = step.tokens - skipped - 1;
    const costs = matrix.subarray(skipped * positions, (skipped + rows) * positions).map((value) => -value);
    return [...rowStarts(costs, rows, positions)].map((column) => column * secondsPerTimestamp);
  }
}
