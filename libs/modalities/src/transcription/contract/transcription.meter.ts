import { type JobUsage, type NanoUsd, noTokens } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { UsageBounds } from '#queue';

/* Prices of transcription, as pure functions: seconds of the recording, to the millisecond, silence included. */

/** The length of a recording by its header or its frames, and its size. */
export interface RecordingFacts {
  bytes: number;
  /** Null if nothing says. */
  durationSeconds: number | null;
}

/** Maximum length of a recording, in seconds: four hours. */
export const maxAudioSeconds = 14_400;

/** Seconds that a recording may run beyond its header before it counts as longer. */
const toleranceSeconds = 2;
/**
 * Lowest average bit rate of a recording, in bits per second; it bounds the seconds by the bytes. Silence of the codecs
 * that write streams without a length takes more, with its container.
 */
const minBitRate = 1_000;

/**
 * Returns the maximum number of seconds that a recording is charged for; longer ones are refused. At most `maxSeconds`,
 * four hours by default.
 */
export function quotedSeconds(
  { bytes, durationSeconds }: RecordingFacts,
  maxSeconds: number = maxAudioSeconds,
): number {
  return Math.min(maxSeconds, (durationSeconds ?? (bytes * 8) / minBitRate) + toleranceSeconds);
}

/** The worst case of a recording. Never less than what `transcriptionUnits` bill for it. */
export function quoteTranscription(seconds: number, pricing: Pricing | null): NanoUsd {
  return quoteUnits([secondsUnit(seconds)], pricing);
}

/** The most that a recording can use, to the next millisecond: its last sample may begin before the end. */
export function boundTranscription(seconds: number): UsageBounds {
  return { ...noTokens, units: { audioSeconds: Math.ceil(seconds * 1_000) / 1_000 } };
}

/** What a job is charged for. */
export function transcriptionUnits({ units }: JobUsage): BillableUnit[] {
  return [secondsUnit(units?.audioSeconds ?? 0)];
}

function secondsUnit(seconds: number): BillableUnit {
  const count = Math.round(seconds * 1_000);
  return { sku: 'asr-audio-second', price: 'per_audio_second', measure: 'second', count };
}
