import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { SpeechWindow, WindowRecognizer, WindowSpeech } from '../../recognition/block-recognizer.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import { recognitionSampleRate, type RecognizedSegment } from '../../recognition/speech-recognition.js';
import { type GraphSession, type GraphTensor, releaseKept } from '../../runtime/graph-session.js';
import { LogMelSpectrogram } from './log-mel.js';
import { splitSegments, type SplitText } from './segment-splitter.js';
import type { WhisperTokens } from './whisper.tokens.js';
import { isSilence, WindowDecoder, type WindowText } from './window-decoder.js';
import { WordAligner } from './word-aligner.js';
import { joinPunctuation, medianDuration, shortenAtSentenceEnds, wordsOfSegments } from './word-timing.js';

/** Whisper takes 30 s at once, 100 frames per second; shorter audio is padded with silence. */
const windowSeconds = 30;
const windowFrames = 3_000;
const defaultMelBins = 80;

export interface WhisperDependencies {
  encoder: GraphSession;
  decoder: MergedDecoder;
  tokens: WhisperTokens;
}

/** Transcribes one window after another with Whisper. */
export class WhisperRecognizer implements WindowRecognizer {
  readonly maxSeconds = windowSeconds;
  private readonly mel: LogMelSpectrogram;
  private readonly melBins: number;
  private readonly writer: WindowDecoder;
  /** Null if the export does not support word times. */
  private readonly aligner: WordAligner | null;

  constructor(private readonly dependencies: WhisperDependencies) {
    const { decoder, tokens } = dependencies;
    this.melBins = tokens.settings.num_mel_bins ?? defaultMelBins;
    this.mel = new LogMelSpectrogram(this.melBins);
    this.writer = new WindowDecoder(decoder, tokens);
    this.aligner = WordAligner.of(decoder, tokens);
  }

  async recognize(window: SpeechWindow, context: TaskContext): Promise<WindowSpeech> {
    await context.yieldToEventLoop();
    const encoded = await context.measure(() => this.encode(window.samples));
    return await this.transcribe(encoded, window, context).finally(() => releaseKept([encoded]));
  }

  private async transcribe(encoded: GraphTensor, window: SpeechWindow, context: TaskContext): Promise<WindowSpeech> {
    const { tokens } = this.dependencies;
    const known = window.languages.find((language) => tokens.languages.has(language));
    const language = known ?? (await this.writer.detectLanguage(encoded, context));
    const { prompt, isCut, temperature, translate } = window;
    // In a cut window, the model's timestamps tell how much of it was transcribed.
    const timestamps = isCut || window.timestamps !== 'none';
    const text = await this.writer.write(
      { encoded, language, translate, prompt, timestamps, temperature: temperature ?? 0 },
      context,
    );
    const nothing: WindowSpeech = { segments: [], language, transcribedUntil: null, needsOverlap: false };
    if (isSilence(text)) return nothing;
    const duration = window.samples.length / recognitionSampleRate;
    const split = splitSegments(text.tokens, tokens, duration);
    const words =
      window.timestamps === 'word' ? await this.timeWords({ split, encoded, language, duration }, context) : null;
    const segments = split.segments.map((segment, index): RecognizedSegment => {
      const timed = words?.[index];
      return {
        ...this.scored(segment.tokens, text),
        start: Math.min(timed?.start ?? segment.start, duration),
        end: Math.min(timed?.end ?? segment.end, duration),
        words: timed?.words.map((word) => ({ ...word, word: word.word.trim() })) ?? null,
      };
    });
    const spoken = segments.filter((segment) => segment.text.trim() !== '');
    return { ...nothing, segments: spoken, transcribedUntil: isCut ? split.transcribedUntil : null };
  }

  private async encode(samples: Float32Array): Promise<GraphTensor> {
    const { encoder, decoder } = this.dependencies;
    const features = this.mel.compute(samples, windowFrames);
    const feeds = { input_features: encoder.tensor('float32', features, [1, this.melBins, windowFrames]) };
    return await decoder.encode(encoder, feeds, 'last_hidden_state');
  }

  private async timeWords(
    {
      split,
      encoded,
      language,
      duration,
    }: { split: SplitText; encoded: GraphTensor; language: string | null; duration: number },
    context: TaskContext,
  ): Promise<ReturnType<typeof wordsOfSegments> | null> {
    if (this.aligner === null) return null;
    const { endOfText } = this.dependencies.tokens;
    const textTokens = split.segments.map((segment) => segment.tokens.filter((id) => id < endOfText));
    const words = await this.aligner.align({ encoded, language, textTokens: textTokens.flat(), duration }, context);
    const median = medianDuration(words);
    shortenAtSentenceEnds(words, median);
    joinPunctuation(words);
    const segments = split.segments.map(({ start, end }, index) => ({
      start,
      end,
      textTokens: textTokens[index]?.length ?? 0,
    }));
    return wordsOfSegments(words, segments, { median, lastSpeechEnd: 0 });
  }

  private scored(
    tokens: number[],
    { temperature, avgLogprob, compressionRatio, noSpeechProb }: WindowText,
  ): Omit<RecognizedSegment, 'start' | 'end' | 'words'> {
    const text = this.dependencies.tokens.decode(tokens);
    return { text, tokens, temperature, avgLogprob, compressionRatio, noSpeechProb };
  }
}
