import type { ModelManifest } from '#model-registry/manifest';
import { nearestRatio } from './image-size.js';

type SizeFields = { width: number; height: number } | { aspect_ratio: string };

/**
 * A size as OpenAI's clients name it, in the words of `POST /image/generate`: for a model that has shapes the nearest of
 * them, for others width and height, which may be longer than that route takes. `auto` and none are 1024x1024 (contract 5.2).
 */
export function fieldsOfSize(size: string | null | undefined, { constraints }: ModelManifest): SizeFields {
  const [width = 1_024, height = 1_024] = /^\d+x\d+$/.test(size ?? '') ? (size ?? '').split('x').map(Number) : [];
  const { aspectRatios = [] } = (constraints ?? {}) as { aspectRatios?: string[] };
  const nearest = nearestRatio({ width, height }, aspectRatios);
  return nearest === null ? { width, height } : { aspect_ratio: nearest };
}
