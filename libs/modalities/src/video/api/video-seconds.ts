import type { VideoModel } from './video.model.js';

/** What is made where neither `duration` nor a source says how long it is. */
const openSeconds = 5;

/** The seconds that a duration names; null for one that leaves them open. */
export function secondsOf(duration: string): number | null {
  const [, digits] = /^(\d+)s$/.exec(duration) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** How long a video is where `duration` leaves it open: of words the first length that the model names. */
export function openSecondsOf({ kind, durations }: Pick<VideoModel, 'kind' | 'durations'>): number {
  if (kind !== 'generator') return openSeconds;
  return durations.map(secondsOf).find((seconds) => seconds !== null) ?? openSeconds;
}
