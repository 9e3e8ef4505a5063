import { nearestRatio } from '#media';
import type { ImageConstraints, ModelManifest } from '#model-registry/manifest';
import { isGiven } from '#platform/http';
import { imageUpscaling } from '../contract/index.js';
import { tierOfSize } from './image-tiers.js';

type SizeFields = { width: number; height: number } | { aspect_ratio: string; resolution?: string };

/**
 * Converts an OpenAI size to fields of `POST /image/generate`: the nearest shape for a model that has shapes, otherwise
 * width and height, which may exceed that route's limit. `auto` and none mean 1024x1024. A model that upscales reaches
 * its sizes cheaply, so a named size is its smallest tier that holds it.
 */
export function fieldsOfSize(size: string | null | undefined, manifest: ModelManifest): SizeFields {
  const { constraints } = manifest;
  const [width = 1_024, height = 1_024] = /^\d+x\d+$/.test(size ?? '') ? (size ?? '').split('x').map(Number) : [];
  const { aspectRatios = [], resolutions = [] } = (constraints ?? {}) as Partial<ImageConstraints>;
  const nearest = nearestRatio({ width, height }, aspectRatios);
  if (nearest === null) return { width, height };
  const isNamed = isGiven(size) && size !== 'auto' && imageUpscaling(manifest) !== null;
  const side = Math.min(width, height);
  const resolution = isNamed ? tierOfSize({ width: side, height: side }, resolutions) : null;
  return { aspect_ratio: nearest, ...(resolution !== null && { resolution }) };
}
