import { formatNanos, type JobUsage, type NanoUsd, nanosOf } from '#common';
import type { Price } from '#model-registry/manifest';

/*
 * What a transcription costs, as pure functions: seconds of the recording, counted to the millisecond, silence included.
 */

/** What a manifest of type `asr` calls its price. */
export interface TranscriptionPricing {
  per_audio_second: Price;
}

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

/** The worst case of a recording. Never less than what `transcriptionChargeLines` bills for it. */
export function quoteTranscription(seconds: number, pricing: TranscriptionPricing | null): NanoUsd {
  return pricing === null ? 0n : costOf(seconds, nanosOf(pricing.per_audio_second.usd));
}

/** The position of a charge; none where the model is free. */
export function transcriptionChargeLines(
  modelId: string,
  usage: JobUsage,
  pricing: TranscriptionPricing | null,
): { sku: string; units: string; unitPriceNano: NanoUsd; amountNano: NanoUsd }[] {
  if (pricing === null) return [];
  const seconds = usage.units?.audioSeconds ?? 0;
  const unitPriceNano = nanosOf(pricing.per_audio_second.usd);
  return [
    {
      sku: `${modelId}-asr-audio-second`,
      units: formatNanos(BigInt(millisecondsOf(seconds)) * 1_000_000n, 3),
      unitPriceNano,
      amountNano: costOf(seconds, unitPriceNano),
    },
  ];
}

function millisecondsOf(seconds: number): number {
  return Math.round(seconds * 1_000);
}

/** Half up to the nano. */
function costOf(seconds: number, nanosPerSecond: NanoUsd): NanoUsd {
  return (BigInt(millisecondsOf(seconds)) * nanosPerSecond + 500n) / 1_000n;
}
