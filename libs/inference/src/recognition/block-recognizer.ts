import { PlatformError } from '#common';
import type { TaskContext } from '../engines/queued-task.engine.js';
import { lastWords, withoutRepeated } from './repeated-words.js';
import {
  type RecognitionInput,
  type RecognitionMemory,
  type RecognitionOutput,
  recognitionSampleRate,
  type RecognizedSegment,
} from './speech-recognition.js';
import { raiseQuietSpeech } from './speech-level.js';
import { type SpeechSpan, speechSpans } from './speech-spans.js';
import { type VoiceActivity, voiceFrameSamples } from './voice-activity.js';
import { planWindow, type WindowPlan } from './window-planner.js';

/** Speech of at most the model's maximum length. */
export interface SpeechWindow extends Pick<RecognitionInput, 'prompt' | 'temperature' | 'timestamps' | 'translate'> {
  samples: Float32Array;
  /** ISO 639-1, the client's language before the detected one; the first that the model supports is used. */
  languages: readonly string[];
  /** Speech continues at the end of the window. */
  isCut: boolean;
}

export interface WindowSpeech {
  /** Seconds from the start of the window. */
  segments: RecognizedSegment[];
  /** ISO 639-1; null if the model cannot detect it. */
  language: string | null;
  /** End of the transcribed part in seconds; null for the whole window. Only cut windows end earlier. */
  transcribedUntil: number | null;
  /**
   * True when the next window must start before the end of this one, because the end of its last word is unknown.
   * `segments` then lack that word.
   */
  needsOverlap: boolean;
}

/** Transcribes one window; implemented per model. */
export interface WindowRecognizer {
  /** Longest window, in seconds. */
  readonly maxSeconds: number;
  recognize(window: SpeechWindow, context: TaskContext): Promise<WindowSpeech>;
}

/** Overlap in seconds of two windows when speech had to be cut. */
const overlapSeconds = 2;
/** A cut window transcribed for less than this, in seconds, counts as complete, so that the next window differs. */
const minProgressSeconds = 1;

type Window = Extract<WindowPlan, { kind: 'window' }>;

/**
 * Processes one block of a recording: raises it if it is quiet, detects speech, passes the next window to the model, and reports where to
 * continue.
 */
export class BlockRecognizer {
  /** Without voice activity detection the whole block counts as speech. */
  constructor(
    private readonly model: WindowRecognizer,
    private readonly voice: VoiceActivity | null,
  ) {}

  async recognize(input: RecognitionInput, context: TaskContext): Promise<RecognitionOutput> {
    const { isLast } = input;
    const samples = raiseQuietSpeech(input.samples);
    if (!isLast && samples.length < recognitionSampleRate) {
      throw new PlatformError('INVALID_REQUEST', 'A block that is not the last holds at least a second.');
    }
    const memory: RecognitionMemory = input.memory ?? { language: null, tail: [] };
    const spans = await this.detectSpeech(samples, context);
    const maxSamples = Math.round(this.model.maxSeconds * recognitionSampleRate);
    const plan = planWindow({ spans, samples: samples.length, isLast, maxSamples });
    if (plan.kind === 'skip') {
      return { consumedSamples: plan.consumed, heardSpeech: spans.length > 0, segments: [], memory };
    }
    const window: SpeechWindow = {
      samples: samples.subarray(plan.start, plan.end),
      languages: [input.language, memory.language].filter((language) => language !== null),
      isCut: plan.isCut,
      prompt: input.prompt,
      temperature: input.temperature,
      timestamps: input.timestamps,
      translate: input.translate ?? false,
    };
    const speech = await this.model.recognize(window, context);
    return this.buildOutput(plan, speech, memory);
  }

  /** Runs every graph once. */
  async warmUp(samples: Float32Array, context: TaskContext): Promise<void> {
    await this.detectSpeech(samples, context);
    const defaults = { prompt: null, temperature: null, timestamps: 'none', languages: [], isCut: false } as const;
    await this.model.recognize({ samples, ...defaults }, context);
  }

  private async detectSpeech(samples: Float32Array, context: TaskContext): Promise<SpeechSpan[]> {
    const { voice } = this;
    if (voice === null) return samples.length === 0 ? [] : [{ start: 0, end: samples.length }];
    await context.yieldToEventLoop();
    const probabilities = await context.measure(() => voice.probabilities(samples));
    return speechSpans(probabilities, { frameSamples: voiceFrameSamples, samples: samples.length });
  }

  private buildOutput(plan: Window, speech: WindowSpeech, memory: RecognitionMemory): RecognitionOutput {
    const offset = plan.start / recognitionSampleRate;
    const segments = withoutOverlap(memory.tail, speech.segments).map((segment) => moved(segment, offset));
    const text = segments.map((segment) => segment.text).join('');
    return {
      consumedSamples: consumedBy(plan, speech),
      heardSpeech: true,
      segments,
      memory: {
        language: memory.language ?? speech.language,
        tail: speech.needsOverlap ? lastWords(text) : [],
      },
    };
  }
}

function consumedBy(plan: Window, { transcribedUntil, needsOverlap }: WindowSpeech): number {
  if (!plan.isCut) return plan.consumed;
  if (needsOverlap) return plan.consumed - overlapSeconds * recognitionSampleRate;
  if (transcribedUntil === null || transcribedUntil < minProgressSeconds) return plan.consumed;
  return Math.min(plan.consumed, plan.start + Math.round(transcribedUntil * recognitionSampleRate));
}

/** Removes words that the first segment repeats from the previous window. */
function withoutOverlap(tail: readonly string[], segments: readonly RecognizedSegment[]): RecognizedSegment[] {
  const [first, ...others] = segments;
  if (first === undefined || tail.length === 0) return [...segments];
  const text = withoutRepeated(tail, first.text);
  return text === '' ? others : [{ ...first, text: ` ${text}` }, ...others];
}

function moved(segment: RecognizedSegment, offset: number): RecognizedSegment {
  const words = segment.words?.map((word) => ({ ...word, start: word.start + offset, end: word.end + offset })) ?? null;
  return { ...segment, start: segment.start + offset, end: segment.end + offset, words };
}
