import { invalidField } from '#gateway';
import type { FrameSize } from '#media';
import { isGiven } from '#platform/http';
import type { EditImagesRequest, VaryImageRequest } from '../contract/openai-image.request.js';
import type { EditOrder } from './edit-plan.js';

/** Converts a request of OpenAI's edit route. */
export function orderOfOpenaiEdit(wire: EditImagesRequest): EditOrder {
  const { image, mask, prompt } = wire;
  return {
    ...fromOpenai(wire),
    wire: { ...wireOf(wire), prompt },
    images: isGiven(mask) ? [image, mask] : [image],
    param: 'image',
    maskParam: 'mask',
    mask: 'transparent',
  };
}

/** Converts a request for variations: an edit that describes nothing. */
export function orderOfVariation(wire: VaryImageRequest): EditOrder {
  const { image } = wire;
  return { ...fromOpenai(wire), wire: { ...wireOf(wire), prompt: '' }, images: [image], param: 'image', varies: true };
}

function fromOpenai({ n, size }: Pick<EditImagesRequest, 'n' | 'size'>) {
  return { count: n ?? 1, size: readSize(size), isOpenai: true };
}

function wireOf({ model, output_format: format, moderation }: Omit<VaryImageRequest, 'image'>): EditOrder['wire'] {
  return { prompt: '', model: model ?? undefined, output_format: format ?? 'png', safe_mode: moderation !== 'low' };
}

/** Null for `auto` and none. */
function readSize(size: string | null | undefined): FrameSize | null {
  if (!isGiven(size) || size === 'auto') return null;
  const [width, height] = size.split('x').map(Number);
  if (width === undefined || height === undefined) throw invalidField('size must be WIDTHxHEIGHT or auto.', 'size');
  return { width, height };
}
