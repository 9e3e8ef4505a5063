import { joinFloats } from '#common/values';
import { boundary, type PiperVoice } from '#model-store/voices';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { cutPhonemes } from '../../speech/cut-phonemes.js';
import { spokenText } from '../../speech/english/spoken-text.js';
import type { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import type { SpeakSettings, Synthesizer } from '../../speech/synthesizer.js';
import { piperPhonemes } from './piper.phonemes.js';

/** Symbols per run. Memory and the time to the first audio grow with it. */
export const maxSymbols = 400;

/** A voice of the VITS architecture (Kim et al. 2021, arXiv:2106.06103): ids of symbols in, a waveform out. */
export class PiperSynthesizer implements Synthesizer {
  /** `pronouncer` is null for a voice that reads letters. */
  constructor(
    private readonly session: GraphSession,
    private readonly settings: PiperVoice,
    private readonly pronouncer: WordPronouncer | null,
  ) {}

  get sampleRate(): number {
    return this.settings.sampleRate;
  }

  get voices(): readonly string[] {
    return [...this.settings.speakers.keys()];
  }

  async synthesize(sentence: string, { voice, speed }: SpeakSettings, context: TaskContext): Promise<Float32Array> {
    const speaker = this.settings.speakers.get(voice) ?? 0;
    const parts: Float32Array[] = [];
    for (const piece of cutPhonemes(this.symbolsOf(sentence), maxSymbols)) {
      if (!/[\p{L}\p{N}]/u.test(piece)) continue;
      if (parts.length > 0) await context.yieldToEventLoop();
      parts.push(await context.measure(() => this.run(this.idsOf(piece), speaker, speed)));
    }
    return joinFloats(parts);
  }

  /** Returns what the voice reads: one symbol per code point. */
  private symbolsOf(sentence: string): string {
    const { pronouncer } = this;
    const text = pronouncer === null ? sentence.toLowerCase() : piperPhonemes(spokenText(sentence, pronouncer));
    return text.normalize('NFD').trim();
  }

  /** Returns the ids between start and end, with a pad after each symbol but the last. Unknown symbols are left out. */
  private idsOf(symbols: string): number[] {
    const { symbolIds, replacements } = this.settings;
    const idsOf = (symbol: string): readonly number[] => symbolIds.get(symbol) ?? [];
    const spoken = [...symbols]
      .flatMap((symbol) => replacements.get(symbol) ?? [symbol])
      .map(idsOf)
      .filter(({ length }) => length > 0);
    const padded = [idsOf(boundary.start), ...spoken].flatMap((ids) => [...ids, ...idsOf(boundary.pad)]);
    return [...padded, ...idsOf(boundary.end)];
  }

  private async run(ids: readonly number[], speaker: number, speed: number): Promise<Float32Array> {
    const { session, settings } = this;
    const integers = (values: readonly number[], dims: readonly number[]) =>
      session.tensor('int64', BigInt64Array.from(values, BigInt), dims);
    const { noise, length, pace } = settings.scales;
    const { output } = await session.run(
      {
        input: integers(ids, [1, ids.length]),
        input_lengths: integers([ids.length], [1]),
        scales: session.tensor('float32', Float32Array.of(noise, length / speed, pace), [3]),
        ...(settings.takesSpeaker && { sid: integers([speaker], [1]) }),
      },
      ['output'],
    );
    return output?.data as Float32Array;
  }
}
