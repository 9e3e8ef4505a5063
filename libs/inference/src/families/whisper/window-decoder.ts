import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { DecoderText, MergedDecoder } from '../../recognition/merged-decoder.js';
import { compressionRatio, loopedTokens } from '../../recognition/repetition.js';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { Random } from '../../sampling/random.js';
import { chooseToken, probabilityOf } from '../../recognition/token-choice.js';
import { TokenRules } from './token-rules.js';
import type { WhisperTokens } from './whisper.tokens.js';

export interface WindowRequest {
  /** Output of the encoder. */
  encoded: GraphTensor;
  /** ISO 639 code; ignored by English-only models. */
  language: string | null;
  /** English text instead of a transcript. */
  translate?: boolean;
  prompt: string | null;
  timestamps: boolean;
  /** Above 0: this temperature only. 0: the likeliest text, with higher temperatures where that fails. */
  temperature: number;
}

/** The text of one window. */
export interface WindowText {
  /** Without the end token; with timestamps if requested. */
  tokens: number[];
  text: string;
  temperature: number;
  avgLogprob: number;
  compressionRatio: number;
  noSpeechProb: number;
  /** The text ended in a loop and was cut after its first round. */
  isLoop: boolean;
}

/** Tried in turn until a text is likely and does not repeat itself; values of the reference. */
const temperatures = [0, 0.2, 0.4, 0.6, 0.8, 1];
const maxCompression = 2.4;
const minLogprob = -1;
const likelySilence = 0.6;
/** Tokens between two checks for a loop. */
const loopCheckEvery = 12;

/** Decodes the text of windows, token by token. */
export class WindowDecoder {
  /** Positions of the model: maximum tokens of prompt, start sequence and text together. */
  private readonly positions: number;
  /** Maximum tokens of a window's text, and of its prompt. */
  private readonly maxTextTokens: number;

  constructor(
    private readonly decoder: MergedDecoder,
    private readonly tokens: WhisperTokens,
  ) {
    this.positions = tokens.settings.max_target_positions ?? 448;
    this.maxTextTokens = Math.floor(this.positions / 2);
  }

  /** Returns the likeliest language; null for English-only models. */
  async detectLanguage(encoded: GraphTensor, context: TaskContext): Promise<string | null> {
    const { tokens } = this;
    if (!tokens.isMultilingual) return null;
    await context.yieldToEventLoop();
    const text = this.decoder.begin(encoded);
    const { logits } = await context.measure(() => text.feed([tokens.startOfTranscript])).finally(() => text.release());
    const [best] = [...tokens.languages].toSorted(([, left], [, right]) => (logits[right] ?? 0) - (logits[left] ?? 0));
    return best?.[0] ?? null;
  }

  /** Rejects like `context.yieldToEventLoop`. */
  async write(request: WindowRequest, context: TaskContext): Promise<WindowText> {
    const tries = request.temperature > 0 ? [request.temperature] : temperatures;
    const failed: WindowText[] = [];
    for (const temperature of tries) {
      const text = await this.writeOnce(request, temperature, context);
      if (!needsAnother(text)) return text;
      failed.push(text);
    }
    return likeliestOf(failed);
  }

  private async writeOnce(request: WindowRequest, temperature: number, context: TaskContext): Promise<WindowText> {
    const text = this.decoder.begin(request.encoded);
    return await this.writeTo(text, { ...request, temperature }, context).finally(() => text.release());
  }

  private async writeTo(text: DecoderText, request: WindowRequest, context: TaskContext): Promise<WindowText> {
    const { tokens } = this;
    const { temperature } = request;
    const start = tokens.startSequence(request.language, request);
    const prompt = tokens.promptTokens(request.prompt, this.maxTextTokens - 1);
    const fed = [...prompt, ...start, ...(request.timestamps ? [] : [tokens.noTimestamps])];
    const rules = new TokenRules(tokens, { timestamps: request.timestamps });
    // A fixed seed: the same recording gives the same text.
    const random = new Random(Math.round(temperature * 1_000));
    await context.yieldToEventLoop();
    let { logits } = await context.measure(() => text.feed(fed));
    const size = this.decoder.vocabularySize;
    const startAt = prompt.length * size;
    const noSpeechProb = probabilityOf(logits.subarray(startAt, startAt + size), tokens.noSpeech);
    logits = logits.subarray((fed.length - 1) * size);
    const written: number[] = [];
    let logprobs = 0;
    // After a long prompt the start tokens leave less than half of the positions.
    const max = Math.min(this.maxTextTokens, this.positions - fed.length);
    while (written.length < max) {
      rules.apply(logits, written);
      const { id, logprob } = chooseToken(logits, temperature, random);
      logprobs += logprob;
      if (id === tokens.endOfText) break;
      written.push(id);
      if (written.length % loopCheckEvery === 0 && this.countLoopedTokens(written) > 0) break;
      await context.yieldToEventLoop();
      ({ logits } = await context.measure(() => text.feed([id])));
    }
    return this.finished(written, { temperature, noSpeechProb, avgLogprob: logprobs / (written.length + 1) });
  }

  private finished(
    written: number[],
    scores: Pick<WindowText, 'temperature' | 'noSpeechProb' | 'avgLogprob'>,
  ): WindowText {
    const looped = this.countLoopedTokens(written);
    const tokens = looped === 0 ? written : this.withoutLoop(written, looped);
    const ratio = compressionRatio(this.tokens.decode(written));
    const text = this.tokens.decode(tokens);
    return { ...scores, tokens, text, compressionRatio: ratio, isLoop: looped > 0 };
  }

  /** Counts repeated tokens without timestamps, because timestamps advance even in a loop. */
  private countLoopedTokens(written: readonly number[]): number {
    return loopedTokens(written.filter((id) => !this.tokens.isTimestamp(id)));
  }

  /** Keeps one round of the loop, which may have been spoken. */
  private withoutLoop(written: readonly number[], looped: number): number[] {
    let left = looped;
    let end = written.length;
    while (end > 0 && left > 0) if (!this.tokens.isTimestamp(written[--end] as number)) left--;
    return written.slice(0, end);
  }
}

/**
 * Returns the likeliest text that is not a loop when every try failed. People repeat themselves too, so a high
 * compression ratio alone does not rule a text out.
 */
function likeliestOf(texts: WindowText[]): WindowText {
  const [best] = texts.toSorted(
    (left, right) => Number(left.isLoop) - Number(right.isLoop) || right.avgLogprob - left.avgLogprob,
  );
  // The list of tries is never empty.
  return best as WindowText;
}

function needsAnother({ compressionRatio: ratio, avgLogprob, noSpeechProb, isLoop }: WindowText): boolean {
  if (noSpeechProb > likelySilence && avgLogprob < minLogprob) return false;
  return isLoop || ratio > maxCompression || avgLogprob < minLogprob;
}

/** Returns true for unlikely text where the model itself detects no speech: words made up from noise. */
export function isSilence({ avgLogprob, noSpeechProb }: WindowText): boolean {
  return noSpeechProb > likelySilence && avgLogprob <= minLogprob;
}
