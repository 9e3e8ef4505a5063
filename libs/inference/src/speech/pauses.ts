import type { SpeechBreak } from '../engines/speech.js';

/** Silence behind a sentence, in ms at the model's own pace. */
const pauseMs: Readonly<Record<SpeechBreak, number>> = { clause: 120, sentence: 320, paragraph: 650, end: 120 };

/** Quieter than this (-50 dB) counts as silence. */
const silentBelow = 0.003;

/** What is left in front of the first and behind the last sound, so that no consonant is cut. */
const keptMs = 80;

/** Models begin and end with silences of their own, which differ: they are cut, and the right one is put behind. */
export function withPause(
  samples: Float32Array,
  { sampleRate, before, speed }: { sampleRate: number; before: SpeechBreak; speed: number },
): Float32Array {
  const kept = Math.round((keptMs / 1000) * sampleRate);
  const first = samples.findIndex((sample) => Math.abs(sample) >= silentBelow);
  if (first < 0) return new Float32Array(0);
  const last = samples.findLastIndex((sample) => Math.abs(sample) >= silentBelow);
  const spoken = samples.subarray(Math.max(0, first - kept), Math.min(samples.length, last + 1 + kept));
  const pause = Math.round(((pauseMs[before] / 1000) * sampleRate) / speed);
  const result = new Float32Array(spoken.length + pause);
  result.set(spoken);
  return result;
}
