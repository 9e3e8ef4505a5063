import { randomInt } from 'node:crypto';
import { charactersOf } from '#common';
import { type ModelManifest, readImageTier, type Pricing } from '#model-registry/manifest';
import type { GenerateImageRequest } from '../contract/generate.request.js';
import { largestSeed } from '../contract/image.request.js';
import { type ImageJobPayload, unitOfImage } from '../contract/index.js';
import { plainPayload } from './edit-payloads.js';
import { type ImageSize, invalid, readShape, sideOfTier, sizeOfSide, tierOfSize, usualSide } from './image-size.js';
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
}

const defaultGuidance = 7.5;

/** A request as the worker gets it. Throws `INVALID_REQUEST` naming the field that this model cannot do. */
export function normalizeGenerate(
  wire: GenerateImageRequest,
  manifest: ModelManifest,
  pricing: Pricing | null,
): ImageJobPayload {
  const constraints = manifest.constraints as unknown as ImageConstraints;
  checkPrompt(wire, constraints);
  checkReferences(wire);
  const style = wire.style_preset === undefined || wire.style_preset === null ? null : styleOf(wire.style_preset);
  const { width, height, resolution } = sizeOf(wire, constraints);
  const quality = constraints.qualities ? (wire.quality ?? constraints.defaultQuality ?? 'high') : null;
  return {
    ...plainPayload('generate', []),
    prompt: joined(wire.prompt, style?.prompt),
    negativePrompt: joined(wire.negative_prompt ?? '', style?.negative),
    width,
    height,
    steps: stepsOf(wire, constraints),
    guidance: wire.cfg_scale ?? guidanceOf(manifest),
    seeds: seedsOf(wire),
    format: (wire.format ?? 'webp') as ImageJobPayload['format'],
    safeMode: wire.safe_mode ?? true,
    withExif: wire.embed_exif_metadata ?? false,
    priceOfImage: unitOfImage(pricing, { flat: 'generation', resolution, quality }),
  };
}

function checkPrompt(
  { prompt, return_binary: binary, variants }: GenerateImageRequest,
  { promptCharacterLimit }: ImageConstraints,
): void {
  if (charactersOf(prompt) > promptCharacterLimit) {
    throw invalid('prompt', `prompt may have ${promptCharacterLimit} characters with this model.`);
  }
  if (binary === true && (variants ?? 1) > 1) {
    throw invalid('variants', 'variants above 1 need return_binary to be false: bytes are one picture.');
  }
}

/** No family looks at them, whatever a manifest says. */
function checkReferences({ style_references: references }: GenerateImageRequest): void {
  if ((references?.length ?? 0) > 0) throw invalid('style_references', 'This model takes no style references.');
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
  { known, usual, param }: { known: string[]; usual: string | undefined; param: string },
): string | null {
  if (wanted === undefined || wanted === null) return usual ?? known[0] ?? null;
  if (known.includes(wanted)) return wanted;
  if (known.length === 0) throw invalid(param, `This model has no ${param}; send width and height.`);
  throw invalid(param, `${param} must be one of: ${known.join(', ')}.`);
}

/** What a model lists, or the one thing it has. */
function listed(known: string[] | undefined, usual: string | undefined): string[] {
  if (known !== undefined && known.length > 0) return known;
  return usual === undefined ? [] : [usual];
}

/** How large a picture becomes, and the tier of that: what is charged is what is made. */
function sizeOf(wire: GenerateImageRequest, constraints: ImageConstraints): ImageSize & { resolution: string | null } {
  const { widthHeightDivisor: divisor, defaultAspectRatio, defaultResolution } = constraints;
  const ratios = listed(constraints.aspectRatios, defaultAspectRatio);
  const tiers = listed(constraints.resolutions, defaultResolution);
  const ratio = chosen(wire.aspect_ratio, { known: ratios, usual: defaultAspectRatio, param: 'aspect_ratio' });
  const resolution = chosen(wire.resolution, { known: tiers, usual: defaultResolution, param: 'resolution' });
  const [width, height] = [wire.width ?? null, wire.height ?? null];
  if ((width !== null || height !== null) && !isUsualBesideOthers(wire)) {
    checkAlone(wire);
    const size = { width: width ?? usualSide, height: height ?? usualSide };
    for (const side of ['width', 'height'] as const) checkDivisible(side, size[side], divisor);
    return { ...size, resolution: tierOfSize(size, tiers) };
  }
  if (ratio === null && resolution === null) {
    checkDivisible('width', usualSide, divisor);
    return { width: usualSide, height: usualSide, resolution };
  }
  const shape = (ratio === null ? null : readShape(ratio)) ?? { width: 1, height: 1 };
  return { ...sizeOfSide(shape, { side: sideOf(wire, resolution), divisor }), resolution };
}

/** Registered models may have a usual tier whose name means no size; who names none is not refused for it. */
function sideOf(wire: GenerateImageRequest, resolution: string | null): number {
  if (resolution === null) return usualSide;
  return (wire.resolution ?? null) === null ? (readImageTier(resolution) ?? usualSide) : sideOfTier(resolution);
}

/** The other ways to say a size. */
const otherwise = ['resolution', 'aspect_ratio'] as const;

/** Sides that are sent as their published default say nothing beside what was chosen. */
function isUsualBesideOthers(wire: GenerateImageRequest): boolean {
  const isUsual = (wire.width ?? usualSide) === usualSide && (wire.height ?? usualSide) === usualSide;
  return isUsual && otherwise.some((name) => (wire[name] ?? null) !== null);
}

/** Width and height say the size: what else says one would be charged or hoped for, and not made. */
function checkAlone(wire: GenerateImageRequest): void {
  const other = otherwise.find((name) => (wire[name] ?? null) !== null);
  if (other === undefined) return;
  throw invalid(other, `${other} cannot be sent with width or height, which say the size of the picture.`);
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
