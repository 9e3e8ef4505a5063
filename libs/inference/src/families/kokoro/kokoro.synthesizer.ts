import { joinFloats } from '#common/values';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { spokenText } from '../../speech/english/spoken-text.js';
import type { WordPronouncer } from '../../speech/english/word-pronouncer.js';
import { cutPhonemes } from '../../speech/cut-phonemes.js';
import type { Synthesizer, SpeakSettings } from '../../speech/synthesizer.js';
import { type Accent, kokoroPhonemes } from './kokoro.phonemes.js';
import { padId, symbolIds } from './kokoro.vocabulary.js';
import { type KokoroVoices, styleSize } from './kokoro.voices.js';

/** Maximum number of symbols between the two pads of the graph. */
export const maxSymbols = 510;

/** Synthesizes a waveform from symbols and the style of a voice. */
export class KokoroSynthesizer implements Synthesizer {
  constructor(
    private readonly session: GraphSession,
    private readonly styles: KokoroVoices,
    private readonly pronouncer: WordPronouncer,
    readonly sampleRate: number,
  ) {}

  get voices(): readonly string[] {
    return this.styles.names;
  }

  async synthesize(sentence: string, settings: SpeakSettings, context: TaskContext): Promise<Float32Array> {
    const { voice } = settings;
    const phonemes = kokoroPhonemes(spokenText(sentence, this.pronouncer), accentOf(voice, settings.language));
    const parts: Float32Array[] = [];
    for (const piece of cutPhonemes(phonemes, maxSymbols)) {
      const ids = symbolIds(piece);
      if (ids.length === 0) continue;
      if (parts.length > 0) await context.yieldToEventLoop();
      const style = await this.styles.style(voice, ids.length);
      parts.push(await context.measure(() => this.run(ids, style, settings.speed)));
    }
    return joinFloats(parts);
  }

  private async run(ids: number[], style: Float32Array, speed: number): Promise<Float32Array> {
    const { session } = this;
    const input = BigInt64Array.from([padId, ...ids, padId], BigInt);
    const feeds = {
      input_ids: session.tensor('int64', input, [1, input.length]),
      style: session.tensor('float32', style, [1, styleSize]),
      speed: session.tensor('float32', Float32Array.of(speed), [1]),
    };
    const { waveform } = await session.run(feeds, ['waveform']);
    return waveform?.data as Float32Array;
  }
}

/** An English language tag decides the accent; any other leaves it to the voice. */
function accentOf(voice: string, language: string | null): Accent {
  const tag = language?.toLowerCase().replace('_', '-') ?? '';
  if (tag === 'en-us') return 'american';
  if (tag === 'en-gb') return 'british';
  return voice.startsWith('b') ? 'british' : 'american';
}
