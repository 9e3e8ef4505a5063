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

/** An image of a request: an uploaded file, base64, a data URL, or a URL where the route takes one. */
export type WireImage = UploadedFile | string;

export const aspectRatios = ['auto', '1:1', '3:2', '16:9', '21:9', '9:16', '2:3', '3:4', '4:5'] as const;
export const editFormats = ['jpeg', 'jpg', 'png', 'webp'] as const;
export const imageQualities = ['low', 'medium', 'high'] as const;

/** Maximum size of one image, in bytes: 25 MB. */
export const maxImageBytes = 25 * 1024 * 1024;
/** Maximum number of images of one form; the limit of a model is lower. */
export const maxInputImages = 16;

export const imageHelp = 'A file of a form, base64, or a data URL; under 25 MB.';

/** `POST /image/upscale`. */
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
    description: 'How much detail may be invented. No available model uses it.',
    nullable: true,
    default: 0.01,
  })
  creativity?: number;
}

/** Fields shared by editing one and several images. */
class EditRequest {
  @TextField({
    description: 'The edit to make.',
    required: true,
    minLength: 1,
    notBlank: true,
    maxLength: 32_768,
    example: 'Take the sign away',
  })
  prompt!: string;

  @TextField({ description: 'Model id, trait or alias; the default model when absent.', minLength: 1, maxLength: 256 })
  modelId?: string;

  @ChoiceField(aspectRatios, {
    description: 'Aspect ratio of the result, one of the model’s; `auto` is that of the input image.',
  })
  aspect_ratio?: string;

  @TextField({
    description: 'Resolution tier, one of the model’s; the result has as many pixels as a square of that side.',
    minLength: 1,
    maxLength: 10,
    example: '1K',
  })
  resolution?: string;

  @ChoiceField(imageQualities, { description: 'For models that have several.' })
  quality?: string;

  @ChoiceField(editFormats, { description: 'Default: png at 1K, jpeg above. `jpg` means `jpeg`.' })
  output_format?: string;

  @NumberField({
    description: 'How much of the image is regenerated; for models that generate. Default: the model’s, with a mask 1.',
    minimum: 0.01,
    maximum: 1,
  })
  strength?: number;

  @BooleanField({ description: 'Blur a result with adult content.', default: true })
  safe_mode?: boolean;

  @BooleanField({ description: 'Have the prompt rewritten before it is used.', default: false })
  enhance_prompt?: boolean;

  @BooleanField({ description: 'Accepted without effect: no available model reasons about prompts.' })
  disable_prompt_optimization_thinking?: boolean;
}

/** `POST /image/edit`. */
export class EditImageRequest extends EditRequest {
  @FileField({ description: `${imageHelp} Or an http URL.`, required: true, orText: true, mayBeEmpty: true })
  image!: WireImage;

  @TextField({ description: 'Model id, trait or alias; the default model when absent.', minLength: 1, maxLength: 256 })
  model?: string;
}

/** `POST /image/multi-edit`. */
export class MultiEditImageRequest extends EditRequest {
  @FileListField({
    description: 'The image to edit, then masks or layers: base64, data URLs or http URLs; in a form, files only.',
    required: true,
    orText: true,
    mayBeEmpty: true,
    minItems: 1,
    maxItems: maxInputImages,
  })
  images!: WireImage[];
}

/** `POST /image/background-remove`. */
export class BackgroundRemoveImageRequest {
  @FileField({ description: imageHelp, orText: true, mayBeEmpty: true })
  image?: WireImage;

  @TextField({ description: 'An http URL of the image, instead of `image`.', format: 'uri', maxLength: 8_192 })
  image_url?: string;
}

/** A style reference given as an image. */
export class StyleReference {
  @TextField({ description: 'Base64, a data URL or an http URL; under 8 MB.', required: true, minLength: 1 })
  image!: string;

  @NumberField({ description: 'Weight of the reference.', minimum: 0.1, maximum: 1, default: 0.5 })
  strength?: number;
}

export const smallestSeed = -999_999_999;
export const largestSeed = 999_999_999;
export const largestSide = 1_280;

const side = {
  description: 'In pixels; not together with `resolution` or `aspect_ratio`.',
  minimum: 0,
  exclusiveMinimum: true,
  maximum: largestSide,
  default: 1024,
};

/** The numeric fields of `POST /image/generate`. */
export class ImageNumbers {
  @IntegerField(side)
  width?: number;

  @IntegerField(side)
  height?: number;

  @IntegerField({ description: 'Denoising steps, within the range of the model.', minimum: 1 })
  steps?: number;

  @IntegerField({
    description: 'The same seed produces the same image; 0 picks a random one. Variants count up from it.',
    minimum: smallestSeed,
    maximum: largestSeed,
    default: 0,
  })
  seed?: number;

  @IntegerField({ description: 'Number of images to generate.', minimum: 1, maximum: 4, default: 1 })
  variants?: number;

  @IntegerField({ description: 'Accepted without effect: no available model supports it.', minimum: 0, maximum: 100 })
  lora_strength?: number;
}
