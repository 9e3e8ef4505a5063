import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow, WindowRecognizer, WindowSpeech } from '../../recognition/block-recognizer.js';
import { refuseUnsupported } from '../../recognition/refuse-unsupported.js';
import { compressionRatio } from '../../recognition/repetition.js';
import {
  recognitionBlockSeconds,
  recognitionSampleRate,
  type RecognizedSegment,
} from '../../recognition/speech-recognition.js';
import { DurationDecoder } from './duration-decoder.js';
import { hopSamples, NormalizedLogMel } from './log-mel.js';
import { joinWords, splitSentences, type SpokenWord } from './spoken-words.js';
import type { TransducerGraphs } from './transducer-graphs.js';
import type { TransducerVocabulary } from './transducer-vocabulary.js';

/** Minimum number of samples, below which a band has no deviation. */
const shortestSamples = 1_600;

export interface ParakeetDependencies {
  graphs: TransducerGraphs;
  vocabulary: TransducerVocabulary;
  /** Frames of features per frame of the encoder. */
  subsamplingFactor: number;
  maxTokensPerFrame: number;
  /** ISO 639-1 codes of the languages that the model knows; empty if unknown. */
  languages: readonly string[];
}

/**
 * Transcribes one window after another with a transducer that predicts tokens and durations. It writes punctuation and
 * capitals, recognizes the language by itself and takes no prompt.
 */
export class ParakeetRecognizer implements WindowRecognizer {
  readonly maxSeconds = recognitionBlockSeconds;
  private readonly mel: NormalizedLogMel;
  private readonly decoder: DurationDecoder;

  constructor(private readonly dependencies: ParakeetDependencies) {
    this.mel = new NormalizedLogMel(dependencies.graphs.bands);
    this.decoder = new DurationDecoder(dependencies);
  }

  async recognize(window: SpeechWindow, context: TaskContext): Promise<WindowSpeech> {
    const { graphs, vocabulary, subsamplingFactor, languages } = this.dependencies;
    refuseUnsupported(window, languages);
    const duration = window.samples.length / recognitionSampleRate;
    const temperature = window.temperature ?? 0;
    await context.yieldToEventLoop();
    const features = this.mel.compute(padded(window.samples));
    const encoded = await context.measure(() => graphs.encode(features));
    const emitted = await this.decoder.decode(encoded, { temperature }, context);
    const words = joinWords(emitted, {
      textOf: (id) => vocabulary.textOf(id),
      secondsPerFrame: (subsamplingFactor * hopSamples) / recognitionSampleRate,
    });
    const kept = window.isCut ? withoutCutWords(words, duration) : { words, transcribedUntil: null };
    const avgLogprob = emitted.reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, emitted.length);
    const scores = { temperature, avgLogprob, noSpeechProb: 0, compressionRatio: compressionRatio(textOf(kept.words)) };
    const segments = splitSentences(kept.words).map((sentence): RecognizedSegment => ({
      ...segmentOf(sentence, duration, window.timestamps === 'word'),
      ...scores,
    }));
    const spoken = segments.filter(({ text }) => text.trim() !== '');
    // The model writes each language as it hears it, and does not say which one that was.
    const language = window.languages[0] ?? (languages.length === 1 ? (languages[0] ?? null) : null);
    return { segments: spoken, language, transcribedUntil: kept.transcribedUntil, needsOverlap: false };
  }
}

function padded(samples: Float32Array): Float32Array {
  if (samples.length >= shortestSamples) return samples;
  const longer = new Float32Array(shortestSamples);
  longer.set(samples);
  return longer;
}

function textOf(words: readonly SpokenWord[]): string {
  return words.map(({ text }) => text).join('');
}

function segmentOf(
  words: readonly SpokenWord[],
  duration: number,
  withWords: boolean,
): Pick<RecognizedSegment, 'text' | 'start' | 'end' | 'words' | 'tokens'> {
  const timed = words.map(({ text, start, end, probability }) => {
    return { word: text.trim(), start: Math.min(start, duration), end: Math.min(end, duration), probability };
  });
  return {
    text: textOf(words),
    start: timed[0]?.start ?? 0,
    end: timed.at(-1)?.end ?? 0,
    words: withWords ? timed.filter(({ word }) => word !== '') : null,
    tokens: words.flatMap(({ tokens }) => tokens),
  };
}

/**
 * Omits what the end of the window cut: the last sentence, or its last word if the sentence began in the first half. The
 * next window starts between what is kept and what is not.
 */
function withoutCutWords(
  words: SpokenWord[],
  duration: number,
): { words: SpokenWord[]; transcribedUntil: number | null } {
  const sentenceLength = splitSentences(words).at(-1)?.length ?? 0;
  for (const omitted of [sentenceLength, 1]) {
    const count = words.length - omitted;
    const [last, next] = [words[count - 1], words[count]];
    if (last === undefined || next === undefined || next.start <= duration / 2) continue;
    return { words: words.slice(0, count), transcribedUntil: (last.end + next.start) / 2 };
  }
  return { words, transcribedUntil: null };
}
