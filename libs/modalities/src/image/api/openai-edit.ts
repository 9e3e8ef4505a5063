import { invalidField } from '#gateway';
import type { FrameSize } from '#media';
import { isGiven, UploadedFile } from '#platform/http';
import type { WireImage } from '../contract/image.request.js';
import type { EditImagesRequest, ImageReference, VaryImageRequest } from '../contract/openai-image.request.js';
import type { ImageEdit } from './edit-plan.js';

/** Converts a request of OpenAI's edit route. Throws `INVALID_REQUEST` unless its images come in one of their fields. */
export function openaiEditOf(body: EditImagesRequest): ImageEdit {
  const { mask, prompt } = body;
  const { images, param } = imagesOf(body);
  const [image, ...references] = images;
  if (image === undefined) throw invalidField('image is required.', 'image', 'required');
  return {
    ...fromOpenai(body),
    body: { ...bodyOf(body), prompt },
    images: isGiven(mask) ? [image, inlineOf(mask)] : [image],
    references,
    param,
    maskParam: 'mask',
    mask: 'transparent',
  };
}

/** Forms and older clients send `image`, newer ones `images` in JSON. */
function imagesOf({ image, images }: EditImagesRequest): { images: WireImage[]; param: string } {
  if (isGiven(image) && isGiven(images)) throw invalidField('Only one of image and images can be given.', 'images');
  if (isGiven(images)) return { images: images.map(inlineOf), param: 'images' };
  return { images: isGiven(image) ? [image].flat() : [], param: 'image' };
}

function inlineOf(image: WireImage | ImageReference): WireImage {
  return typeof image === 'string' || image instanceof UploadedFile ? image : image.image_url;
}

/** Converts a request for variations: an edit that describes nothing. */
export function variationOf(body: VaryImageRequest): ImageEdit {
  const { image } = body;
  return { ...fromOpenai(body), body: { ...bodyOf(body), prompt: '' }, images: [image], param: 'image', varies: true };
}

function fromOpenai({ n, size }: Pick<EditImagesRequest, 'n' | 'size'>) {
  return { count: n ?? 1, size: readSize(size), isOpenai: true };
}

function bodyOf({ model, output_format: format, moderation }: Omit<VaryImageRequest, 'image'>): ImageEdit['body'] {
  return { prompt: '', model: model ?? undefined, output_format: format ?? 'png', safe_mode: moderation !== 'low' };
}

/** Null for `auto` and none. */
function readSize(size: string | null | undefined): FrameSize | null {
  if (!isGiven(size) || size === 'auto') return null;
  const [width, height] = size.split('x').map(Number);
  if (width === undefined || height === undefined) throw invalidField('size must be WIDTHxHEIGHT or auto.', 'size');
  return { width, height };
}
