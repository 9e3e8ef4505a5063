import { randomInt } from 'node:crypto';
import { checkLength, checkOneOf, invalidField } from '#gateway';
import { type FrameSize, readRatio, sizeOfLongSide } from '#media';
import { type ImageConstraints, type ModelManifest, type Pricing, readImageTier } from '#model-registry/manifest';
import { isGiven } from '#platform/http';
import type { GenerateImageRequest } from '../contract/generate.request.js';
import { largestSeed } from '../contract/image.request.js';
import { type DrawnImage, imageUpscaling, type ImageJobPayload, unitOfImage } from '../contract/index.js';
import { upscaleFactors, upscaleUnits } from '../contract/image-upscaling.js';
import { latentDivisor, plainPayload } from './edit-payloads.js';
import { sideOfTier, tierOfSize, defaultSide } from './image-tiers.js';
import { findStyle, type StylePreset } from './style-presets.js';

const defaultGuidance = 7.5;

/**
 * Converts a request to the job payload. Throws `INVALID_REQUEST` naming the field that this model does not support.
 */
export function normalizeGenerate(
  body: GenerateImageRequest,
  manifest: ModelManifest,
  pricing: Pricing | null,
): ImageJobPayload {
  const constraints = manifest.constraints as unknown as ImageConstraints;
  checkPrompt(body, constraints);
  // No family reads style references, whatever a manifest says.
  if (isGiven(body.style_references)) throw invalidField('This model takes no style references.', 'style_references');
  const style = isGiven(body.style_preset) ? styleOf(body.style_preset, manifest) : null;
  const { width, height, resolution } = sizeOf(body, constraints);
  const drawn = drawnOf(body, { width, height }, manifest);
  const quality = constraints.qualities ? (body.quality ?? constraints.defaultQuality ?? 'high') : null;
  return {
    ...plainPayload('generate', []),
    prompt: joined(body.prompt, style?.prompt),
    negativePrompt: joined(body.negative_prompt ?? '', style?.negative),
    width,
    height,
    steps: stepsOf(body, constraints),
    guidance: body.cfg_scale ?? guidanceOf(manifest),
    seeds: seedsOf(body),
    format: (body.format ?? 'webp') as ImageJobPayload['format'],
    safeMode: body.safe_mode ?? true,
    withExif: body.embed_exif_metadata ?? false,
    priceOfImage: unitOfImage(pricing, { flat: 'generation', resolution, quality }),
    ...(drawn && { drawn, unitsPerImage: upscaleUnits(upscaleFactors(drawn, { width, height }), pricing) }),
  };
}

function checkPrompt(
  { prompt, return_binary: binary, variants, enable_web_search: search }: GenerateImageRequest,
  { promptCharacterLimit }: ImageConstraints,
): void {
  checkLength('prompt', prompt, promptCharacterLimit);
  if (search === true) throw invalidField('No image model searches the web.', 'enable_web_search', 'unsupported');
  if (binary === true && (variants ?? 1) > 1) {
    throw invalidField('variants above 1 need return_binary to be false: bytes are one image.', 'variants');
  }
}

/** What a style adds; a model that knows some styles rejects all others. */
function styleOf(name: string, { kindMembers }: ModelManifest): Pick<StylePreset, 'prompt' | 'negative'> {
  const style = findStyle(name);
  const known = kindMembers?.['stylePresets'] as Record<string, string> | undefined;
  if (style !== undefined && known !== undefined) {
    checkOneOf('style_preset', style.name, Object.keys(known));
    return { prompt: known[style.name] ?? '', negative: '' };
  }
  if (style !== undefined) return style;
  throw invalidField(
    `style_preset ${JSON.stringify(name)} is not known; GET /image/styles lists them all.`,
    'style_preset',
  );
}

function joined(text: string, more: string | undefined): string {
  return [text, more].filter((part) => part !== undefined && part !== '').join(', ');
}

/** Returns the requested or default choice; null if the model has none. */
function chosen(
  wanted: string | undefined,
  { known, defaultValue, param }: { known: string[]; defaultValue: string | undefined; param: string },
): string | null {
  if (!isGiven(wanted)) return defaultValue ?? known[0] ?? null;
  if (known.length === 0) throw invalidField(`This model has no ${param}; send width and height.`, param);
  checkOneOf(param, wanted, known);
  return wanted;
}

/** The values that a model lists, or its only one. */
function listed(known: string[] | undefined, defaultValue: string | undefined): string[] {
  if (isGiven(known)) return known;
  return defaultValue === undefined ? [] : [defaultValue];
}

/** Returns the size of an image and its tier, which decides the price. */
function sizeOf(body: GenerateImageRequest, constraints: ImageConstraints): FrameSize & { resolution: string | null } {
  const { widthHeightDivisor: divisor, defaultAspectRatio, defaultResolution } = constraints;
  const ratios = listed(constraints.aspectRatios, defaultAspectRatio);
  const tiers = listed(constraints.resolutions, defaultResolution);
  const ratio = chosen(body.aspect_ratio, { known: ratios, defaultValue: defaultAspectRatio, param: 'aspect_ratio' });
  const resolution = chosen(body.resolution, { known: tiers, defaultValue: defaultResolution, param: 'resolution' });
  if ((isGiven(body.width) || isGiven(body.height)) && !isUsualBesideOthers(body)) {
    const other = otherwise.find((name) => isGiven(body[name]));
    if (other !== undefined) {
      throw invalidField(`${other} cannot be sent with width or height, which say the size of the image.`, other);
    }
    const size = { width: body.width ?? defaultSide, height: body.height ?? defaultSide };
    for (const side of ['width', 'height'] as const) checkDivisible(side, size[side], divisor);
    return { ...size, resolution: tierOfSize(size, tiers) };
  }
  if (ratio === null && resolution === null) {
    checkDivisible('width', defaultSide, divisor);
    return { width: defaultSide, height: defaultSide, resolution };
  }
  const shape = (ratio === null ? null : readRatio(ratio)) ?? { width: 1, height: 1 };
  return { ...sizeOfLongSide(shape, { side: sideOf(body, resolution), divisor }), resolution };
}

/** Registered models may have a default tier without a size, which only fails if the client names it. */
function sideOf(body: GenerateImageRequest, resolution: string | null): number {
  if (resolution === null) return defaultSide;
  return isGiven(body.resolution) ? sideOfTier(resolution) : (readImageTier(resolution) ?? defaultSide);
}

/**
 * Returns the size that a model of one size draws for an image; null for a model that draws every size. Throws
 * `INVALID_REQUEST` for a shape that the model does not have, and above its largest tier.
 */
function drawnOf(body: GenerateImageRequest, size: FrameSize, manifest: ModelManifest): DrawnImage | null {
  const upscaling = imageUpscaling(manifest);
  if (upscaling === null) return null;
  const { aspectRatios = [], resolutions = [] } = manifest.constraints as unknown as ImageConstraints;
  const param = isGiven(body.height) && !isGiven(body.width) ? 'height' : 'width';
  const max = Math.max(...resolutions.map((tier) => readImageTier(tier) ?? 0));
  if (resolutions.length > 0 && Math.max(size.width, size.height) > max) {
    throw invalidField(`This model makes images of up to ${max} pixels a side.`, param);
  }
  if (aspectRatios.length > 0 && !aspectRatios.some((ratio) => isShape(size, ratio))) {
    throw invalidField(`This model makes images of the shapes ${aspectRatios.join(', ')} only.`, param);
  }
  const { nativeSide, model } = upscaling;
  return { ...sizeOfLongSide(size, { side: nativeSide, divisor: latentDivisor }), upscaler: model };
}

/** Sides are rounded to the model's divisor, so that shapes are about equal. */
function isShape({ width, height }: FrameSize, ratio: string): boolean {
  const shape = readRatio(ratio);
  return shape !== null && Math.abs(width / height / (shape.width / shape.height) - 1) < 0.05;
}

/** Other fields that set the size. */
const otherwise = ['resolution', 'aspect_ratio'] as const;

/** Sides sent with their documented default do not conflict with another choice. */
function isUsualBesideOthers(body: GenerateImageRequest): boolean {
  const isUsual = (body.width ?? defaultSide) === defaultSide && (body.height ?? defaultSide) === defaultSide;
  return isUsual && otherwise.some((name) => isGiven(body[name]));
}

/** Does not round; the message names both neighbors. */
function checkDivisible(side: 'width' | 'height', value: number, divisor: number): void {
  if (value % divisor === 0) return;
  const below = Math.floor(value / divisor) * divisor;
  const near = below === 0 ? `${divisor}` : `${below} or ${below + divisor}`;
  throw invalidField(`${side} must be a multiple of ${divisor} with this model: ${near}.`, side);
}

function stepsOf({ steps }: GenerateImageRequest, { steps: bounds }: ImageConstraints): number {
  // Networks that need one step ignore the field.
  if (!isGiven(steps) || bounds.max === 1) return bounds.default;
  if (steps <= bounds.max) return steps;
  throw invalidField(`steps must not be above ${bounds.max} with this model.`, 'steps');
}

function guidanceOf({ familyOptions }: ModelManifest): number {
  const guidance = familyOptions?.guidance;
  return typeof guidance === 'number' ? guidance : defaultGuidance;
}

/** seed, seed + 1, …, so that each image can be reproduced. */
function seedsOf({ seed, variants }: GenerateImageRequest): number[] {
  const first = isGiven(seed) && seed !== 0 ? seed : randomInt(1, largestSeed);
  return Array.from({ length: variants ?? 1 }, (_, index) => first + index);
}
