import { checkLength, checkOneOf, invalidField } from '#gateway';
import { type FrameSize, nearestRatio, readRatio, sizeOfLongSide, sizeOfPixels } from '#media';
import {
  type InpaintConstraints,
  longestImageSide,
  type ModelManifest,
  type Pricing,
  readImageTier,
} from '#model-registry/manifest';
import { isGiven } from '#platform/http';
import { imageUpscaling, type ImageJobPayload, type MaskKind, defaultTier } from '../contract/index.js';
import { upscaleFactors, upscaleUnits } from '../contract/image-upscaling.js';
import { openaiSizes } from '../contract/generate.request.js';
import type {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  WireImage,
} from '../contract/image.request.js';
import { isRedrawn, latentDivisor, maxInputsOf } from './edit-payloads.js';
import { sideOfTier, tierOfSize, defaultSide } from './image-tiers.js';

/** An edit from either route. */
export interface ImageEdit {
  body: Omit<EditImageRequest, 'image' | 'model'> & Pick<Partial<EditImageRequest>, 'model'>;
  images: WireImage[];
  /** Further images that OpenAI clients send as references, which no family reads. */
  references?: WireImage[];
  /** Field to name in errors. */
  param: string;
  /** The same for the second image; default: `param`. */
  maskParam?: string;
  /** What a second image shows; default: white where the edit happens. */
  mask?: MaskKind;
  /** Number of results; default 1. */
  count?: number;
  /** Size of the results; null or none: as the plan says. */
  size?: FrameSize | null;
  /** From a route of OpenAI clients: unknown models become the default, and small images are accepted. */
  isOpenai?: boolean;
  /** Results vary the image instead of following a prompt. */
  varies?: boolean;
}

/** What the model makes of an edit, and how it is priced. */
export interface EditPlan {
  /** Tier that the price is looked up by. */
  resolution: string;
  quality: string | null;
  /** Shape of the result; null for that of the image. */
  shape: FrameSize | null;
  /** Pixels of the result; null without a tier. */
  pixels: number | null;
}

const defaultMaxInputs = 3;

export function imageEditOf({ image, ...body }: EditImageRequest): ImageEdit {
  return { body, images: [image], param: 'image' };
}

/** Forms contain only files; a text there could be a file name as well as base64. */
export function multiImageEditOf({ images, ...body }: MultiEditImageRequest, isForm: boolean): ImageEdit {
  if (isForm && images.some((image) => typeof image === 'string')) {
    throw invalidField('images must be files where they come in a form; base64 and URLs go as JSON.', 'images');
  }
  return { body, images: images, param: 'images' };
}

/** Throws `INVALID_REQUEST` naming the field that this model does not support. */
export function planEdit(edit: ImageEdit, manifest: ModelManifest): EditPlan {
  const { body, images, references = [], param } = edit;
  const constraints = (manifest.constraints ?? {}) as Partial<InpaintConstraints>;
  const redrawn = isRedrawn(manifest);
  const { promptCharacterLimit = Infinity, qualities, defaultQuality } = constraints;
  checkLength('prompt', body.prompt, promptCharacterLimit);
  if (references.length > 0) {
    const message = `The model ${manifest.id} edits one image, and a mask beside it; ${references.length + 1} images were sent.`;
    throw invalidField(message, param);
  }
  const { combineImages, maxInputImages = defaultMaxInputs } = constraints;
  const maxInputs = Math.min(combineImages === false ? 1 : maxInputImages, maxInputsOf(manifest));
  if (images.length > maxInputs) {
    throw invalidField(`This model takes ${maxInputs === 1 ? 'one image' : `${maxInputs} images`} at most.`, param);
  }
  if (!redrawn) refuseChoices(edit);
  return {
    ...tierOf(body.resolution ?? null, constraints, redrawn),
    shape: shapeOf(body.aspect_ratio ?? 'auto', constraints, redrawn),
    quality: qualities ? (body.quality ?? defaultQuality ?? 'high') : null,
  };
}

/** Families that fill images keep their size, make one result and have no strength. */
function refuseChoices({ body, count = 1 }: ImageEdit): void {
  if (isGiven(body.strength)) throw invalidField('strength is not chosen with this model.', 'strength');
  if (count > 1) throw invalidField('This model makes one result: n must be 1.', 'n');
}

/**
 * Throws `INVALID_REQUEST` for a size that the model does not make of an image. Every model takes the size of the image
 * itself, if it makes it; models that generate also take OpenAI's sizes.
 */
export function checkSize({ size = null }: ImageEdit, manifest: ModelManifest, image: FrameSize): void {
  if (size === null) return;
  const [wanted, actual] = [size, image].map(({ width, height }) => `${width}x${height}`) as [string, string];
  if (isRedrawn(manifest)) {
    const isOwnMade = imageUpscaling(manifest) !== null || isDrawable(image);
    checkOneOf('size', wanted, isOwnMade ? [...openaiSizes, actual] : openaiSizes);
  } else if (wanted !== actual) {
    const message = `size is not chosen with this model: the result has the size of the image. Send auto or ${actual}.`;
    throw invalidField(message, 'size');
  }
}

function isDrawable({ width, height }: FrameSize): boolean {
  return width % latentDivisor === 0 && height % latentDivisor === 0;
}

/** Size of the result, and what a model of one size draws of it. */
export interface RedrawnSize extends Pick<ImageJobPayload, 'width' | 'height' | 'drawn' | 'unitsPerImage'> {
  /** Tier that the price is looked up by. */
  resolution: string;
}

/** Returns the size of a redrawn image. Throws `INVALID_REQUEST` for one above the model's largest tier. */
export function redrawnSize(
  plan: EditPlan,
  { size = null, isOpenai = false }: ImageEdit,
  { image, manifest, pricing }: { image: FrameSize; manifest: ModelManifest; pricing: Pricing | null },
): RedrawnSize {
  const upscaling = imageUpscaling(manifest);
  const { resolutions = [], aspectRatios = [] } = (manifest.constraints ?? {}) as Partial<InpaintConstraints>;
  const max = Math.max(0, ...resolutions.map((tier) => readImageTier(tier) ?? 0));
  if (size !== null && max > 0 && Math.max(size.width, size.height) > max) {
    throw invalidField(`This model makes images of up to ${max} pixels a side.`, 'size');
  }
  if (upscaling === null) {
    const chosen = size ?? sizeOfEdit(plan, image);
    return { ...chosen, resolution: tierOfSize(chosen, resolutions) ?? plan.resolution };
  }
  const output = isOpenai ? within(image, max) : sizeOfEdit(plan, image, 1);
  const { width, height } = size ?? output;
  const ratio = nearestRatio({ width, height }, aspectRatios);
  const shape = (ratio === null ? null : readRatio(ratio)) ?? { width, height };
  const drawn = sizeOfLongSide(shape, { side: upscaling.nativeSide, divisor: latentDivisor });
  return {
    width,
    height,
    resolution: tierOfSize({ width, height }, resolutions) ?? plan.resolution,
    drawn: { ...drawn, upscaler: upscaling.model },
    unitsPerImage: upscaleUnits(upscaleFactors(drawn, { width, height }), pricing),
  };
}

/** The size that a model works at, and the field that chose it. An edit without an image was refused before. */
export function editedSize(
  edit: ImageEdit,
  { plan, manifest, image }: { plan: EditPlan; manifest: ModelManifest; image: FrameSize | null },
): FrameSize & { param: string; divisor?: number } {
  const { param, size = null, body } = edit;
  const { width, height } = image ?? { width: 0, height: 0 };
  if (!isRedrawn(manifest)) return { width, height, param };
  const redrawn = redrawnSize(plan, edit, { image: { width, height }, manifest, pricing: null });
  const worked = redrawn.drawn ?? redrawn;
  const chosen = isGiven(body.resolution) ? 'resolution' : param;
  return { width: worked.width, height: worked.height, divisor: latentDivisor, param: size === null ? chosen : 'size' };
}

/** Shrinks a size until its longer side fits. */
function within({ width, height }: FrameSize, side: number): FrameSize {
  const scale = Math.min(1, (side > 0 ? side : defaultSide) / Math.max(width, height));
  const fit = (length: number): number => Math.max(1, Math.round(length * scale));
  return { width: fit(width), height: fit(height) };
}

/** Size of a redrawn image: from its plan, otherwise its own within the default tier. */
export function sizeOfEdit(
  { shape, pixels }: EditPlan,
  { width, height }: FrameSize,
  divisor = latentDivisor,
): FrameSize {
  const max = pixels ?? Math.min(width * height, defaultSide ** 2);
  return sizeOfPixels(shape ?? { width, height }, { pixels: max, divisor, maxSide: longestImageSide });
}

/** Options of families that redraw. A masked part is regenerated completely by default. */
export function redrawing(
  { familyOptions: options = {}, constraints }: Pick<ModelManifest, 'familyOptions' | 'constraints'>,
  { body, images }: Pick<ImageEdit, 'body' | 'images'>,
): Pick<ImageJobPayload, 'steps' | 'guidance' | 'strength'> {
  const { steps } = (constraints ?? {}) as { steps?: { default: number } };
  const number = (name: string, absent: number): number => {
    const value = options[name];
    return typeof value === 'number' ? value : absent;
  };
  const strength = body.strength ?? (images.length > 1 ? 1 : number('strength', 0.75));
  return { steps: number('steps', steps?.default ?? 20), guidance: number('guidance', 7.5), strength };
}

/** Returns the image whose background is removed. Throws `INVALID_REQUEST` unless exactly one was sent. */
export function onlyImage({ image, image_url: url }: BackgroundRemoveImageRequest) {
  if (isGiven(image) && !isGiven(url)) return { image, param: 'image', urls: false };
  if (!isGiven(image) && isGiven(url)) return { image: url, param: 'image_url', urls: true };
  throw invalidField('Exactly one of image and image_url must be given.', 'image');
}

function tierOf(
  wanted: string | null,
  { resolutions = [], defaultResolution }: Partial<InpaintConstraints>,
  redrawn: boolean,
): Pick<EditPlan, 'resolution' | 'pixels'> {
  const firstTier = resolutions.includes(defaultTier) ? defaultTier : (resolutions[0] ?? defaultTier);
  const modelTier = defaultResolution ?? firstTier;
  // A model without tiers makes one size; one that fills images keeps theirs.
  const known = resolutions.length > 0 ? resolutions : [modelTier];
  if (wanted !== null && (redrawn || resolutions.length > 0)) checkOneOf('resolution', wanted, known);
  const resolution = wanted ?? modelTier;
  const isNamed = wanted !== null || resolutions.length > 0 || defaultResolution !== undefined;
  return { resolution, pixels: redrawn && isNamed ? sideOfTier(resolution) ** 2 : null };
}

function shapeOf(
  ratio: string,
  { aspectRatios = [], singleImageAspectRatio }: Partial<InpaintConstraints>,
  redrawn: boolean,
): FrameSize | null {
  if (ratio === 'auto' || singleImageAspectRatio === false) return null;
  if (!redrawn || aspectRatios.length === 0) {
    const message = 'aspect_ratio is not chosen with this model: the result has the shape of the image.';
    throw invalidField(message, 'aspect_ratio');
  }
  const shape = aspectRatios.includes(ratio) ? readRatio(ratio) : null;
  if (shape !== null) return shape;
  throw invalidField(`aspect_ratio must be one of: auto, ${aspectRatios.join(', ')}.`, 'aspect_ratio');
}
