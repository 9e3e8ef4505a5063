import { nearestRatio } from '#media';
import type { ModelManifest } from '#model-registry/manifest';

type SizeFields = { width: number; height: number } | { aspect_ratio: string };

/**
 * Converts an OpenAI size to fields of `POST /image/generate`: the nearest shape for a model that has shapes, otherwise
 * width and height, which may exceed that route's limit. `auto` and none mean 1024x1024.
 */
export function fieldsOfSize(size: string | null | undefined, { constraints }: ModelManifest): SizeFields {
  const [width = 1_024, height = 1_024] = /^\d+x\d+$/.test(size ?? '') ? (size ?? '').split('x').map(Number) : [];
  const { aspectRatios = [] } = (constraints ?? {}) as { aspectRatios?: string[] };
  const nearest = nearestRatio({ width, height }, aspectRatios);
  return nearest === null ? { width, height } : { aspect_ratio: nearest };
}
