import type { JobUsage, NanoUsd } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';

/*
 * What a transcription costs, as pure functions: seconds of the recording, counted to the millisecond, silence included.
 */

/** What the header of a recording says, and what it weighs. */
export interface RecordingFacts {
  bytes: number;
  /** Null where the header does not say. */
  durationSeconds: number | null;
  /** False for streams without a header of their own (mp3, aac), whose length is guessed from their first frames. */
  isExact: boolean;
}

/** Longest recording, in seconds: four hours. */
export const maxAudioSeconds = 14_400;

/** Seconds that a recording may play on beyond its header before it counts as longer. */
const toleranceSeconds = 2;
/** No speech codec goes below this on the whole, in bits per second; so many bytes bound the seconds. */
const minBitRate = 4_000;
/** A guessed length may be off by this much: frames of a variable rate begin with silence. */
const guessFactor = 3;

/** The most seconds that a recording can be charged for; what plays longer is refused. */
export function quotedSeconds({ bytes, durationSeconds, isExact }: RecordingFacts): number {
  const byBytes = (bytes * 8) / minBitRate + toleranceSeconds;
  const stated = durationSeconds === null ? byBytes : durationSeconds * (isExact ? 1 : guessFactor) + toleranceSeconds;
  return Math.min(maxAudioSeconds, durationSeconds !== null && isExact ? stated : Math.min(byBytes, stated));
}

/** The worst case of a recording. Never less than what `transcriptionUnits` bill for it. */
export function quoteTranscription(seconds: number, pricing: Pricing | null): NanoUsd {
  return quoteUnits([secondsUnit(seconds)], pricing);
}

/** What a job is charged for. */
export function transcriptionUnits({ units }: JobUsage): BillableUnit[] {
  return [secondsUnit(units?.audioSeconds ?? 0)];
}

function secondsUnit(seconds: number): BillableUnit {
  const count = Math.round(seconds * 1_000);
  return { sku: 'asr-audio-second', price: 'per_audio_second', measure: 'second', count };
}
