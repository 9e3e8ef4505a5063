import type { SpeechBreak } from '../engines/speech.js';

/** Silence after a sentence, in ms at the model's own pace. */
const pauseMs: Readonly<Record<SpeechBreak, number>> = { clause: 120, sentence: 320, paragraph: 650, end: 120 };

/** Silence threshold: below this (-50 dB). */
const silentBelow = 0.003;

/** Silence left before the first and after the last sound, so that no consonant is cut. */
const marginMs = 80;

/** Replaces the silence that a model adds, which differs between models, with the right pause. */
export function withPause(
  samples: Float32Array,
  { sampleRate, before, speed }: { sampleRate: number; before: SpeechBreak; speed: number },
): Float32Array {
  const kept = Math.round((marginMs / 1000) * sampleRate);
  const first = samples.findIndex((sample) => Math.abs(sample) >= silentBelow);
  if (first < 0) return new Float32Array(0);
  const last = samples.findLastIndex((sample) => Math.abs(sample) >= silentBelow);
  const spoken = samples.subarray(Math.max(0, first - kept), Math.min(samples.length, last + 1 + kept));
  const pause = Math.round(((pauseMs[before] / 1000) * sampleRate) / speed);
  const result = new Float32Array(spoken.length + pause);
  result.set(spoken);
  return result;
}
