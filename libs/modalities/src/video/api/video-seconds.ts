import type { VideoModel } from './video.model.js';

/** Default length in seconds without a `duration` or a source. */
const openSeconds = 5;

/** Returns the seconds of a duration; null if it names none. */
export function secondsOf(duration: string): number | null {
  const [, digits] = /^(\d+)s$/.exec(duration) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** Returns the default length: of generators the first length that the model lists. */
export function openSecondsOf({ kind, durations }: Pick<VideoModel, 'kind' | 'durations'>): number {
  if (kind !== 'generator') return openSeconds;
  return durations.map(secondsOf).find((seconds) => seconds !== null) ?? openSeconds;
}
