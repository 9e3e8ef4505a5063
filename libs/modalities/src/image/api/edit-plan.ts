import { charactersOf } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import { type ImageJobPayload, usualTier } from '../contract/index.js';
import type {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  MultiEditImageRequest,
  WireImage,
} from '../contract/image.request.js';
import { isRedrawn, maxInputsOf } from './edit-payloads.js';
import { type ImageSize, invalid, readShape, sideOfTier, sizeOfPixels, usualSide } from './image-size.js';

/** What the constraints of a model of type inpaint say (contract 9.1). */
interface EditConstraints {
  aspectRatios: string[];
  promptCharacterLimit: number;
  combineImages: boolean;
  maxInputImages?: number;
  singleImageAspectRatio?: boolean;
  resolutions?: string[];
  defaultResolution?: string;
  qualities?: string[];
  defaultQuality?: string;
}

/** One edit, whichever of the two routes it came by. */
export interface EditOrder {
  wire: Omit<EditImageRequest, 'image' | 'model'> & Pick<Partial<EditImageRequest>, 'model'>;
  images: WireImage[];
  /** Field to name in errors. */
  param: string;
}

/** What a model is to make of an edit, and what that is called in its price list. */
export interface EditPlan {
  /** Tier, which the price is looked up by. */
  resolution: string;
  quality: string | null;
  /** Of the result; null where that is the picture's. */
  shape: ImageSize | null;
  /** Of the result in all; null where no tier says it. */
  pixels: number | null;
}

const defaultMaxInputs = 3;
/** Latents are an eighth of a picture; most networks halve those three times. */
const divisor = 64;

export function orderOfEdit({ image, ...wire }: EditImageRequest): EditOrder {
  return { wire, images: [image], param: 'image' };
}

/** Forms have files alone (contract 5.6); a text there would be a file's name as often as base64. */
export function orderOfMultiEdit({ images, ...wire }: MultiEditImageRequest, isForm: boolean): EditOrder {
  if (isForm && images.some((image) => typeof image === 'string')) {
    throw invalid('images', 'images must be files where they come in a form; base64 and URLs go as JSON.');
  }
  return { wire, images: images, param: 'images' };
}

/** Throws `INVALID_REQUEST` naming the field that this model cannot do. */
export function planEdit({ wire, images, param }: EditOrder, manifest: ModelManifest): EditPlan {
  const constraints = (manifest.constraints ?? {}) as Partial<EditConstraints>;
  const redrawn = isRedrawn(manifest);
  const { promptCharacterLimit = Infinity, qualities, defaultQuality } = constraints;
  if (charactersOf(wire.prompt) > promptCharacterLimit) {
    throw invalid('prompt', `prompt may have ${promptCharacterLimit} characters with this model.`);
  }
  checkCount(images.length, param, { constraints, manifest });
  return {
    ...tierOf(wire.resolution ?? null, constraints, redrawn),
    shape: shapeOf(wire.aspect_ratio ?? 'auto', constraints, redrawn),
    quality: qualities ? (wire.quality ?? defaultQuality ?? 'high') : null,
  };
}

/** How large a picture is drawn anew: as its plan says, else as it is, within the usual tier. */
export function sizeOfEdit({ shape, pixels }: EditPlan, { width, height }: ImageSize): ImageSize {
  const max = pixels ?? Math.min(width * height, usualSide ** 2);
  return sizeOfPixels(shape ?? { width, height }, { pixels: max, divisor });
}

/** How a family that draws anew does it. */
export function redrawing(
  options: Readonly<Record<string, unknown>> = {},
): Pick<ImageJobPayload, 'steps' | 'guidance' | 'strength'> {
  const number = (name: string, absent: number): number => {
    const value = options[name];
    return typeof value === 'number' ? value : absent;
  };
  return { steps: number('steps', 20), guidance: number('guidance', 7.5), strength: number('strength', 0.75) };
}

/** The picture to cut out. Throws `INVALID_REQUEST` unless exactly one was sent. */
export function onlyImage({ image, image_url: url }: BackgroundRemoveImageRequest): {
  image: WireImage;
  param: string;
  urls: boolean;
} {
  const [given, link] = [image ?? null, url ?? null];
  if (given !== null && link === null) return { image: given, param: 'image', urls: false };
  if (given === null && link !== null) return { image: link, param: 'image_url', urls: true };
  throw invalid('image', 'Exactly one of image and image_url must be given.');
}

function checkCount(
  count: number,
  param: string,
  { constraints, manifest }: { constraints: Partial<EditConstraints>; manifest: ModelManifest },
): void {
  const { combineImages, maxInputImages = defaultMaxInputs } = constraints;
  const max = Math.min(combineImages === false ? 1 : maxInputImages, maxInputsOf(manifest));
  if (count <= max) return;
  throw invalid(param, `This model takes ${max === 1 ? 'one picture' : `${max} pictures`} at most.`);
}

function tierOf(
  wanted: string | null,
  { resolutions = [], defaultResolution }: Partial<EditConstraints>,
  redrawn: boolean,
): Pick<EditPlan, 'resolution' | 'pixels'> {
  const usual = resolutions.includes(usualTier) ? usualTier : (resolutions[0] ?? usualTier);
  const own = defaultResolution ?? usual;
  // A model without tiers makes one size; one that fills pictures has them all as large as they came.
  const known = resolutions.length > 0 ? resolutions : [own];
  if (wanted !== null && !known.includes(wanted) && (redrawn || resolutions.length > 0)) {
    throw invalid('resolution', `resolution must be one of: ${known.join(', ')}.`);
  }
  const resolution = wanted ?? own;
  const isNamed = wanted !== null || resolutions.length > 0 || defaultResolution !== undefined;
  return { resolution, pixels: redrawn && isNamed ? sideOfTier(resolution) ** 2 : null };
}

function shapeOf(
  ratio: string,
  { aspectRatios = [], singleImageAspectRatio }: Partial<EditConstraints>,
  redrawn: boolean,
): ImageSize | null {
  if (ratio === 'auto' || singleImageAspectRatio === false) return null;
  if (!redrawn || aspectRatios.length === 0) {
    throw invalid(
      'aspect_ratio',
      'aspect_ratio is not chosen with this model: the result has the shape of the picture.',
    );
  }
  const shape = aspectRatios.includes(ratio) ? readShape(ratio) : null;
  if (shape !== null) return shape;
  throw invalid('aspect_ratio', `aspect_ratio must be one of: auto, ${aspectRatios.join(', ')}.`);
}
