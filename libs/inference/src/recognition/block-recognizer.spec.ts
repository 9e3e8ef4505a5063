import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../engines/queued-task.engine.js';
import { BlockRecognizer, type SpeechWindow, type WindowSpeech } from './block-recognizer.js';
import type { RecognitionInput, RecognizedSegment } from './speech-recognition.js';
import { type VoiceActivity, voiceFrameSamples } from './voice-activity.js';

const second = 16_000;
const context: TaskContext = {
  part: () => undefined,
  progress: () => undefined,
  yieldToEventLoop: async () => undefined,
  measure: (run) => run(),
};

/** Treats non-zero samples as speech. */
const voice = {
  probabilities: async (samples: Float32Array) =>
    Float32Array.from({ length: Math.ceil(samples.length / voiceFrameSamples) }, (_, frame) =>
      samples.subarray(frame * voiceFrameSamples, (frame + 1) * voiceFrameSamples).some((sample) => sample !== 0)
        ? 1
        : 0,
    ),
} as unknown as VoiceActivity;

function segment(text: string, start: number, end: number): RecognizedSegment {
  const words = [{ word: text.trim(), start, end, probability: 1 }];
  const scores = { tokens: [], temperature: 0, avgLogprob: 0, compressionRatio: 1, noSpeechProb: 0 };
  return { text, start, end, words, ...scores };
}

/** Model that returns prepared results and records its input. */
function setUp(results: Partial<WindowSpeech>[], maxSeconds = 30) {
  const windows: SpeechWindow[] = [];
  const model = {
    maxSeconds,
    recognize: async (window: SpeechWindow): Promise<WindowSpeech> => {
      windows.push(window);
      return {
        segments: [],
        language: 'en',
        transcribedUntil: null,
        needsOverlap: false,
        ...results[windows.length - 1],
      };
    },
  };
  const recognize = (recognizer: BlockRecognizer, samples: Float32Array, overrides: Partial<RecognitionInput> = {}) =>
    recognizer.recognize(
      {
        samples,
        isLast: true,
        language: null,
        prompt: null,
        temperature: null,
        timestamps: 'word',
        memory: null,
        ...overrides,
      },
      context,
    );
  return {
    windows,
    recognize,
    recognizer: new BlockRecognizer(model, voice),
    withoutVoiceActivity: new BlockRecognizer(model, null),
  };
}

function speech(seconds: number, from = 0, to = seconds): Float32Array {
  return new Float32Array(seconds * second).map((_, index) => {
    const isSpeech = index >= from * second && index < to * second;
    return isSpeech ? (index % 2 === 0 ? 0.3 : -0.3) : 0;
  });
}

describe('a block of a recording', () => {
  it('gives the model and the detector quiet speech at the level of loud speech', async () => {
    const { windows, recognize, recognizer } = setUp([{}]);
    const { heardSpeech } = await recognize(
      recognizer,
      speech(3).map((sample) => sample / 300),
    );
    expect(heardSpeech).toBe(true);
    expect(Math.abs(windows[0]?.samples[0] ?? 0)).toBeCloseTo(0.2, 5);
  });

  it('passes only speech to the model, and shifts the times back', async () => {
    const { windows, recognize, recognizer } = setUp([{ segments: [segment(' hello', 0.5, 1)] }]);
    const { segments, consumedSamples } = await recognize(recognizer, speech(10, 4, 6));
    const offset = (windows[0]?.samples.length ?? 0) / second;
    expect(offset).toBeCloseTo(2.4, 1);
    expect(segments[0]?.start).toBeCloseTo(3.8 + 0.5, 1);
    expect(segments[0]?.words?.[0]?.end).toBeCloseTo(3.8 + 1, 1);
    expect(consumedSamples).toBe(10 * second);
  });

  it("remembers the detected language, and prefers the client's", async () => {
    const { windows, recognize, recognizer } = setUp([{ language: 'fr' }, { language: 'fr' }]);
    const { memory } = await recognize(recognizer, speech(3));
    expect(memory.language).toBe('fr');
    await recognize(recognizer, speech(3), { memory, language: 'it' });
    expect(windows.map(({ languages }) => languages)).toEqual([[], ['it', 'fr']]);
  });

  it('resumes where the transcript of a cut window ended, and always advances', async () => {
    const long = speech(30);
    const { recognize, recognizer, windows } = setUp([{ transcribedUntil: 24.5 }, { transcribedUntil: 0.2 }]);
    expect((await recognize(recognizer, long, { isLast: false })).consumedSamples).toBe(24.5 * second);
    expect((await recognize(recognizer, long, { isLast: false })).consumedSamples).toBe(30 * second);
    expect(windows[0]?.isCut).toBe(true);
  });

  it('overlaps windows when word ends are unknown, and returns shared words once', async () => {
    const { recognize, recognizer } = setUp(
      [
        { segments: [segment(' we choose to go to the', 0, 20)], needsOverlap: true },
        { segments: [segment(' go to the moon', 0, 3)] },
      ],
      20,
    );
    const first = await recognize(recognizer, speech(30), { isLast: false });
    expect(first.consumedSamples).toBe(18 * second);
    const { segments, memory } = await recognize(recognizer, speech(12), { memory: first.memory });
    expect(segments.map(({ text }) => text)).toEqual([' moon']);
    expect(memory.tail).toEqual([]);
  });

  it('drops a segment that repeats the previous window', async () => {
    const { recognize, recognizer } = setUp([{ segments: [segment(' to the', 0, 1), segment(' moon', 1, 2)] }]);
    const memory = { language: 'en', tail: ['go', 'to', 'the'] };
    const { segments } = await recognize(recognizer, speech(3), { memory });
    expect(segments.map(({ text }) => text)).toEqual([' moon']);
  });

  it('is all speech without a voice activity graph', async () => {
    const { recognize, withoutVoiceActivity, windows } = setUp([{}]);
    const { heardSpeech } = await recognize(withoutVoiceActivity, new Float32Array(2 * second));
    expect([heardSpeech, windows[0]?.samples.length]).toEqual([true, 2 * second]);
    expect((await recognize(withoutVoiceActivity, new Float32Array(0))).heardSpeech).toBe(false);
  });

  it('is rejected when it is too short and not the last', async () => {
    const { recognize, recognizer } = setUp([]);
    await expect(recognize(recognizer, speech(0.5), { isLast: false })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
  });
});
