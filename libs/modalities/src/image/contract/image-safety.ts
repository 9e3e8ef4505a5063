/** The internal model that detects adult content. */
export const safetyModelId = 'nsfw-mobilenet';

/** Combined probability of the adult classes from which an image counts as adult content. */
export const adultThreshold = 0.6;
const adultClasses = ['porn', 'hentai'];

/** Returns the combined probability of the adult classes, 0 to 1. */
export function adultScore(scores: Readonly<Record<string, number>>): number {
  return Math.min(
    1,
    adultClasses.reduce((sum, name) => sum + (scores[name] ?? 0), 0),
  );
}
