import { checkLength, checkOneOf, invalidField } from '#gateway';
import { type FrameSize, readRatio, sizeOfPixels } from '#media';
import { type InpaintConstraints, longestImageSide, type ModelManifest } from '#model-registry/manifest';
import { isGiven } from '#platform/http';
import { type ImageJobPayload, usualTier } from '../contract/index.js';
import type {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  WireImage,
} from '../contract/image.request.js';
import { isRedrawn, maxInputsOf } from './edit-payloads.js';
import { sideOfTier, usualSide } from './image-tiers.js';

/** An edit from either route. */
export interface EditOrder {
  wire: Omit<EditImageRequest, 'image' | 'model'> & Pick<Partial<EditImageRequest>, 'model'>;
  images: WireImage[];
  /** Field to name in errors. */
  param: string;
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
/** Latents are an eighth of an image, and most networks halve them three times. */
const divisor = 64;

export function orderOfEdit({ image, ...wire }: EditImageRequest): EditOrder {
  return { wire, images: [image], param: 'image' };
}

/** Forms contain only files; a text there could be a file name as well as base64. */
export function orderOfMultiEdit({ images, ...wire }: MultiEditImageRequest, isForm: boolean): EditOrder {
  if (isForm && images.some((image) => typeof image === 'string')) {
    throw invalidField('images must be files where they come in a form; base64 and URLs go as JSON.', 'images');
  }
  return { wire, images: images, param: 'images' };
}

/** Throws `INVALID_REQUEST` naming the field that this model does not support. */
export function planEdit({ wire, images, param }: EditOrder, manifest: ModelManifest): EditPlan {
  const constraints = (manifest.constraints ?? {}) as Partial<InpaintConstraints>;
  const redrawn = isRedrawn(manifest);
  const { promptCharacterLimit = Infinity, qualities, defaultQuality } = constraints;
  checkLength('prompt', wire.prompt, promptCharacterLimit);
  const { combineImages, maxInputImages = defaultMaxInputs } = constraints;
  const maxInputs = Math.min(combineImages === false ? 1 : maxInputImages, maxInputsOf(manifest));
  if (images.length > maxInputs) {
    throw invalidField(`This model takes ${maxInputs === 1 ? 'one image' : `${maxInputs} images`} at most.`, param);
  }
  return {
    ...tierOf(wire.resolution ?? null, constraints, redrawn),
    shape: shapeOf(wire.aspect_ratio ?? 'auto', constraints, redrawn),
    quality: qualities ? (wire.quality ?? defaultQuality ?? 'high') : null,
  };
}

/** Size of a redrawn image: from its plan, otherwise its own within the default tier. */
export function sizeOfEdit({ shape, pixels }: EditPlan, { width, height }: FrameSize): FrameSize {
  const max = pixels ?? Math.min(width * height, usualSide ** 2);
  return sizeOfPixels(shape ?? { width, height }, { pixels: max, divisor, maxSide: longestImageSide });
}

/** Options of families that redraw. */
export function redrawing(
  options: Readonly<Record<string, unknown>> = {},
): Pick<ImageJobPayload, 'steps' | 'guidance' | 'strength'> {
  const number = (name: string, absent: number): number => {
    const value = options[name];
    return typeof value === 'number' ? value : absent;
  };
  return { steps: number('steps', 20), guidance: number('guidance', 7.5), strength: number('strength', 0.75) };
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
  const usual = resolutions.includes(usualTier) ? usualTier : (resolutions[0] ?? usualTier);
  const own = defaultResolution ?? usual;
  // A model without tiers makes one size; one that fills images keeps theirs.
  const known = resolutions.length > 0 ? resolutions : [own];
  if (wanted !== null && (redrawn || resolutions.length > 0)) checkOneOf('resolution', wanted, known);
  const resolution = wanted ?? own;
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
