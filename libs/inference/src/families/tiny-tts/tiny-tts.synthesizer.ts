import { joinFloats } from '#common/values';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { spokenText } from '../../speech/english/spoken-text.js';
import type { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import type { Synthesizer, SpeakSettings } from '../../speech/synthesizer.js';
import type { TinyTtsMetadata } from './tiny-tts.metadata.js';
import { type ToneSymbol, tinyTtsSymbols } from './tiny-tts.phones.js';

/** Symbols per run. Memory and the time to the first audio grow with it. */
export const maxSymbols = 400;

/** Feature widths of two language models, which this small model was trained to work without. */
const featureChannels = { bert: 1024, ja_bert: 768 };

/**
 * Noise scales that vary timbre and pace. Half of the published values: a recognizer then misunderstands a third fewer
 * words (docs/guides/speech.md).
 */
const noise = { audio: 0.3, pace: 0.3 };

/** TinyTTS: symbols with tones in, a waveform out. A VITS model of 4.7 MB. */
export class TinyTtsSynthesizer implements Synthesizer {
  readonly sampleRate: number;

  constructor(
    private readonly session: GraphSession,
    private readonly metadata: TinyTtsMetadata,
    private readonly pronouncer: WordPronouncer,
  ) {
    this.sampleRate = metadata.sampleRate;
  }

  get voices(): readonly string[] {
    return [...this.metadata.speakers.keys()];
  }

  async synthesize(sentence: string, settings: SpeakSettings, context: TaskContext): Promise<Float32Array> {
    const speakerId = this.metadata.speakers.get(settings.voice) ?? 0;
    const symbols = tinyTtsSymbols(spokenText(sentence, this.pronouncer));
    if (symbols.every(({ symbol }) => !/\w/u.test(symbol))) return new Float32Array(0);
    const parts: Float32Array[] = [];
    for (const piece of cutSymbols(symbols)) {
      if (parts.length > 0) await context.yieldToEventLoop();
      parts.push(await context.measure(() => this.run(piece, speakerId, settings.speed)));
    }
    return joinFloats(parts);
  }

  private async run(symbols: readonly ToneSymbol[], speakerId: number, speed: number): Promise<Float32Array> {
    const { session, metadata } = this;
    const unknown = metadata.symbols.get('UNK') ?? 0;
    const padded = [{ symbol: '_', tone: 0 }, ...symbols, { symbol: '_', tone: 0 }];
    const ids = withBlanks(padded.map(({ symbol }) => metadata.symbols.get(symbol) ?? unknown));
    const tones = withBlanks(padded.map(({ tone }) => tone + metadata.toneOffset));
    const languages = withBlanks(padded.map(() => metadata.languageId));
    const { length } = ids;
    const integers = (values: readonly number[], dims: readonly number[]) =>
      session.tensor('int64', BigInt64Array.from(values, BigInt), dims);
    const float = (value: number) => session.tensor('float32', Float32Array.of(value), [1]);
    const feature = (channels: number) =>
      session.tensor('float32', new Float32Array(channels * length), [1, channels, length]);
    const { audio } = await session.run(
      {
        x: integers(ids, [1, length]),
        x_lengths: integers([length], [1]),
        sid: integers([speakerId], [1]),
        tone: integers(tones, [1, length]),
        language: integers(languages, [1, length]),
        bert: feature(featureChannels.bert),
        ja_bert: feature(featureChannels.ja_bert),
        noise_scale: float(noise.audio),
        noise_scale_w: float(noise.pace),
        length_scale: float(1 / speed),
      },
      ['audio'],
    );
    return audio?.data as Float32Array;
  }
}

/** Adds a blank around every symbol, as in training. */
function withBlanks(values: readonly number[]): number[] {
  return [0, ...values.flatMap((value) => [value, 0])];
}

/** Splits symbols into pieces for one run, after marks where possible. */
function cutSymbols(symbols: readonly ToneSymbol[]): ToneSymbol[][] {
  const pieces: ToneSymbol[][] = [];
  let rest = symbols.slice();
  while (rest.length > maxSymbols) {
    const mark = rest.slice(0, maxSymbols).findLastIndex(({ symbol }) => /^[,.!?…-]$/u.test(symbol));
    const end = mark > maxSymbols / 4 ? mark + 1 : maxSymbols;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest];
}
