import { randomInt } from 'node:crypto';
import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import type { GenerateImageRequest } from '../contract/generate.request.js';
import { largestSeed } from '../contract/image.request.js';
import { type ImageJobPayload, type PicturePricing, unitOfPicture } from '../contract/index.js';
import { plainPayload } from './edit-payloads.js';
import { findStyle } from './style-presets.js';

/** What the constraints of a model of type image say (contract 9.1). */
interface ImageConstraints {
  promptCharacterLimit: number;
  steps: { default: number; max: number };
  widthHeightDivisor: number;
  aspectRatios?: string[];
  defaultAspectRatio?: string;
  resolutions?: string[];
  defaultResolution?: string;
  qualities?: string[];
  defaultQuality?: string;
  maxStyleReferences?: number;
}

const defaultSide = 1_024;
const defaultGuidance = 7.5;
/** The longer side of a tier, in pixels. */
const sideOfTier: Readonly<Record<string, number>> = { '1K': 1_024, '2K': 2_048, '4K': 4_096 };

/** A request as the worker gets it. Throws `INVALID_REQUEST` naming the field that this model cannot do. */
export function normalizeGenerate(
  wire: GenerateImageRequest,
  manifest: ModelManifest,
  pricing: PicturePricing | null,
): ImageJobPayload {
  const constraints = manifest.constraints as unknown as ImageConstraints;
  checkPrompt(wire, constraints);
  checkReferences(wire, constraints);
  const style = wire.style_preset === undefined || wire.style_preset === null ? null : styleOf(wire.style_preset);
  const resolution = chosen(wire.resolution, constraints.resolutions, constraints.defaultResolution, 'resolution');
  const quality = constraints.qualities ? (wire.quality ?? constraints.defaultQuality ?? 'high') : null;
  return {
    ...plainPayload('generate', []),
    prompt: joined(wire.prompt, style?.prompt),
    negativePrompt: joined(wire.negative_prompt ?? '', style?.negative),
    ...sizeOf(wire, constraints, resolution),
    steps: stepsOf(wire, constraints),
    guidance: wire.cfg_scale ?? guidanceOf(manifest),
    seeds: seedsOf(wire),
    format: (wire.format ?? 'webp') as ImageJobPayload['format'],
    safeMode: wire.safe_mode ?? true,
    withExif: wire.embed_exif_metadata ?? false,
    priceOfPicture: unitOfPicture(pricing, { flat: 'generation', resolution, quality }),
  };
}

function invalid(param: string, message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param);
}

function checkPrompt(
  { prompt, return_binary: binary, variants }: GenerateImageRequest,
  { promptCharacterLimit }: ImageConstraints,
): void {
  if (prompt.length > promptCharacterLimit) {
    throw invalid('prompt', `prompt may have ${promptCharacterLimit} characters with this model.`);
  }
  if (binary === true && (variants ?? 1) > 1) {
    throw invalid('variants', 'variants above 1 need return_binary to be false: bytes are one picture.');
  }
}

function checkReferences({ style_references: references }: GenerateImageRequest, constraints: ImageConstraints): void {
  const most = constraints.maxStyleReferences ?? 0;
  if ((references?.length ?? 0) <= most) return;
  const message = most === 0 ? 'This model takes no style references.' : `This model takes ${most} style references.`;
  throw invalid('style_references', message);
}

function styleOf(name: string) {
  const style = findStyle(name);
  if (style !== undefined) return style;
  throw invalid('style_preset', `style_preset ${JSON.stringify(name)} is not known; GET /image/styles lists them all.`);
}

function joined(text: string, more: string | undefined): string {
  return [text, more].filter((part) => part !== undefined && part !== '').join(', ');
}

/** A choice among those the model has; null where it has none. */
function chosen(
  wanted: string | undefined,
  known: string[] | undefined,
  usual: string | undefined,
  param: string,
): string | null {
  if (known === undefined) {
    if (wanted === undefined || wanted === null) return null;
    throw invalid(param, `This model has no ${param}; send width and height.`);
  }
  if (wanted === undefined || wanted === null) return usual ?? known[0] ?? null;
  if (known.includes(wanted)) return wanted;
  throw invalid(param, `${param} must be one of: ${known.join(', ')}.`);
}

function sizeOf(
  wire: GenerateImageRequest,
  constraints: ImageConstraints,
  resolution: string | null,
): { width: number; height: number } {
  const { widthHeightDivisor: divisor } = constraints;
  const ratio = chosen(wire.aspect_ratio, constraints.aspectRatios, constraints.defaultAspectRatio, 'aspect_ratio');
  if (ratio === null || wire.width !== undefined || wire.height !== undefined) {
    const size = { width: wire.width ?? defaultSide, height: wire.height ?? defaultSide };
    for (const side of ['width', 'height'] as const) checkDivisible(side, size[side], divisor);
    return size;
  }
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  const longer = sideOfTier[resolution ?? '1K'] ?? defaultSide;
  const fit = (share: number): number => Math.max(divisor, Math.round((longer * share) / divisor) * divisor);
  return { width: fit(Math.min(1, across / down)), height: fit(Math.min(1, down / across)) };
}

/** No silent rounding: both neighbours are named (gap 28). */
function checkDivisible(side: 'width' | 'height', value: number, divisor: number): void {
  if (value % divisor === 0) return;
  const below = Math.floor(value / divisor) * divisor;
  const near = below === 0 ? `${divisor}` : `${below} or ${below + divisor}`;
  throw invalid(side, `${side} must be a multiple of ${divisor} with this model: ${near}.`);
}

function stepsOf({ steps }: GenerateImageRequest, { steps: bounds }: ImageConstraints): number {
  // Networks that need one step ignore the field (contract 5.1).
  if (steps === undefined || steps === null || bounds.max === 1) return bounds.default;
  if (steps <= bounds.max) return steps;
  throw invalid('steps', `steps must not be above ${bounds.max} with this model.`);
}

function guidanceOf({ familyOptions }: ModelManifest): number {
  const guidance = familyOptions?.guidance;
  return typeof guidance === 'number' ? guidance : defaultGuidance;
}

/** seed, seed + 1, …, so that each picture can be made again (gap 29). */
function seedsOf({ seed, variants }: GenerateImageRequest): number[] {
  const first = seed === undefined || seed === null || seed === 0 ? randomInt(1, largestSeed) : seed;
  return Array.from({ length: variants ?? 1 }, (_, index) => first + index);
}
