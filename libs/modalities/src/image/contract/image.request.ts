import {
  BooleanField,
  ChoiceField,
  FileField,
  FileListField,
  IntegerField,
  NumberField,
  TextField,
  type UploadedFile,
} from '#platform/http';

/** A picture as it comes over the wire: a file of a form, base64, a data URL, or a URL where the route takes one. */
export type WireImage = UploadedFile | string;

export const aspectRatios = ['auto', '1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:5'] as const;
export const editFormats = ['jpeg', 'jpg', 'png', 'webp'] as const;
export const imageQualities = ['low', 'medium', 'high'] as const;

/** Bytes of one picture (contract 5.4 and 5.5): 25 MB. */
export const maxImageBytes = 25 * 1024 * 1024;
/** Pictures of one form; the model's own bound is lower. */
export const maxInputImages = 16;

const imageHelp = 'A file of a form, base64, or a data URL; under 25 MB.';

/** `POST /image/upscale` (contract 5.4). */
export class UpscaleImageRequest {
  @FileField({ description: imageHelp, required: true, orText: true, mayBeEmpty: true })
  image!: WireImage;

  @NumberField({
    description: '2 or 4; 4 becomes 2 where the result would be too large.',
    minimum: 2,
    maximum: 4,
    default: 2,
  })
  scale?: number;

  @NumberField({
    description: 'How much detail may be made up. Not used by the models of today.',
    nullable: true,
    default: 0.01,
  })
  creativity?: number;
}

/** What editing one and several pictures have in common. */
class EditRequest {
  @TextField({
    description: 'What shall become of the picture.',
    required: true,
    minLength: 1,
    maxLength: 32_768,
    example: 'Take the sign away',
  })
  prompt!: string;

  @TextField({ description: 'Model id, trait or alias; the default model when absent.', minLength: 1, maxLength: 256 })
  modelId?: string;

  @ChoiceField(aspectRatios, {
    description: 'Shape of the result, of those the model has; `auto` is that of the picture.',
  })
  aspect_ratio?: string;

  @TextField({
    description: 'Tier of the size, of those the model has; the result has as many pixels as a square of it.',
    minLength: 1,
    maxLength: 10,
    example: '1K',
  })
  resolution?: string;

  @ChoiceField(imageQualities, { description: 'For models that have several.' })
  quality?: string;

  @ChoiceField(editFormats, { description: 'png at 1K, jpeg above. `jpg` is `jpeg`.' })
  output_format?: string;

  @BooleanField({ description: 'Blur a result that is for adults.', default: true })
  safe_mode?: boolean;

  @BooleanField({ description: 'Have the prompt rewritten before it is used.', default: false })
  enhance_prompt?: boolean;

  @BooleanField({ description: 'Accepted; the models of today do not think about prompts.' })
  disable_prompt_optimization_thinking?: boolean;
}

/** `POST /image/edit` (contract 5.5). */
export class EditImageRequest extends EditRequest {
  @FileField({ description: `${imageHelp} Or an http URL.`, required: true, orText: true, mayBeEmpty: true })
  image!: WireImage;

  @TextField({ description: 'Model id, trait or alias; the default model when absent.', minLength: 1, maxLength: 256 })
  model?: string;
}

/** `POST /image/multi-edit` (contract 5.6). */
export class MultiEditImageRequest extends EditRequest {
  @FileListField({
    description: 'The picture to edit, then masks or layers: base64, data URLs or http URLs; in a form files alone.',
    required: true,
    orText: true,
    mayBeEmpty: true,
    minItems: 1,
    maxItems: maxInputImages,
  })
  images!: WireImage[];
}

/** `POST /image/background-remove` (contract 5.6). */
export class BackgroundRemoveImageRequest {
  @FileField({ description: imageHelp, orText: true, mayBeEmpty: true })
  image?: WireImage;

  @TextField({ description: 'An http URL of the picture, instead of `image`.', format: 'uri', maxLength: 8_192 })
  image_url?: string;
}

/** A look that is asked for by pictures. */
export class StyleReference {
  @TextField({ description: 'Base64, a data URL or an http URL; under 8 MB.', required: true, minLength: 1 })
  image!: string;

  @NumberField({ description: 'How strongly it counts.', minimum: 0.1, maximum: 1, default: 0.5 })
  strength?: number;
}

export const smallestSeed = -999_999_999;
export const largestSeed = 999_999_999;
export const largestSide = 1_280;

const side = {
  description: 'In pixels; not beside `resolution` or `aspect_ratio`.',
  minimum: 0,
  exclusiveMinimum: true,
  maximum: largestSide,
  default: 1024,
};

/** The numbers of `POST /image/generate` that its other members build on (contract 5.1). */
export class ImageNumbers {
  @IntegerField(side)
  width?: number;

  @IntegerField(side)
  height?: number;

  @IntegerField({ description: 'Steps of denoising, within those of the model.', minimum: 1 })
  steps?: number;

  @IntegerField({
    description: 'The same seed makes the same picture; 0 takes a random one. Variants count up from it.',
    minimum: smallestSeed,
    maximum: largestSeed,
    default: 0,
  })
  seed?: number;

  @IntegerField({ description: 'Pictures to make.', minimum: 1, maximum: 4, default: 1 })
  variants?: number;

  @IntegerField({ description: 'Accepted; the models of today have no such part.', minimum: 0, maximum: 100 })
  lora_strength?: number;
}
