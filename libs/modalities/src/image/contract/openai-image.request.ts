import {
  BooleanField,
  CheckedField,
  ChoiceField,
  FileField,
  IntegerField,
  ObjectListField,
  TextField,
  UploadedFile,
} from '#platform/http';
import { openaiSizes, partialImagesHelp, streamHelp } from './generate.request.js';
import { imageFormats, maxVariants } from './image.job.js';
import { imageHelp, maxInputImages, type WireImage } from './image.request.js';

const sizePattern = /^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/;

/** Fields of both routes, as OpenAI clients send them. */
class ImageFromImageRequest {
  @TextField({
    description: 'Model id, trait or alias. An unknown name selects the default model.',
    maxLength: 256,
    nullable: true,
    default: 'default',
  })
  model?: string;

  @IntegerField({
    description: 'Number of images. Models that fill images from their surroundings make one.',
    nullable: true,
    minimum: 1,
    maximum: maxVariants,
    default: 1,
  })
  n?: number;

  @CheckedField({
    name: 'isSize',
    description: `\`auto\`, the size of the image, or with models that generate: ${openaiSizes.slice(1).join(', ')}. \`auto\` is the size of the image, as far as the model makes it.`,
    nullable: true,
    schema: { type: 'string', pattern: sizePattern.source, default: 'auto' },
    check: (value) => (sizePattern.test(String(value)) ? null : 'must be WIDTHxHEIGHT or auto'),
  })
  size?: string;

  @ChoiceField(['b64_json', 'url'], { description: '`url` is a data URL.', nullable: true, default: 'b64_json' })
  response_format?: string;

  @ChoiceField(imageFormats, { description: 'Format of the images.', nullable: true, default: 'png' })
  output_format?: string;

  @ChoiceField(['low', 'auto'], { description: '`auto` blurs adult content.', nullable: true, default: 'auto' })
  moderation?: string;

  @TextField({ description: 'Accepted without effect.' })
  user?: string;
}

/** An image of a JSON body. */
export class ImageReference {
  @TextField({ description: 'A data URL, base64, or an http URL.', required: true, minLength: 1 })
  image_url!: string;
}

const asFile = { type: 'string', format: 'binary' };
const oneImage = [asFile, { type: 'string' }];

/** What is wrong with the images of a form, or with one of a JSON body; null if nothing is. */
function imagesProblem(value: unknown): string | null {
  if (typeof value === 'string' || value instanceof UploadedFile) return null;
  if (!Array.isArray(value)) return 'must be a file or a string';
  if (value.length === 0) return 'must have at least one image';
  if (value.length > maxInputImages) return `must have no more than ${maxInputImages} images`;
  const isImage = (item: unknown): boolean => typeof item === 'string' || item instanceof UploadedFile;
  return value.every(isImage) ? null : 'must be files or strings';
}

function isReference(value: unknown): value is ImageReference {
  return typeof value === 'object' && value !== null && typeof (value as ImageReference).image_url === 'string';
}

/** `POST /images/edits`, as a form or as JSON. */
export class EditImagesRequest extends ImageFromImageRequest {
  @CheckedField({
    // Named so that a form may have several.
    name: 'isArray',
    description: `${imageHelp} Or an http URL. Required, or \`images\` in JSON. The models edit one image.`,
    schema: { anyOf: [...oneImage, { type: 'array', items: { anyOf: oneImage }, maxItems: maxInputImages }] },
    check: imagesProblem,
  })
  image?: WireImage | WireImage[];

  @ObjectListField(() => ImageReference, [ImageReference], {
    description: 'The same in JSON, instead of `image`.',
    minItems: 1,
    maxItems: maxInputImages,
  })
  images?: ImageReference[];

  @CheckedField({
    name: 'isFile',
    description:
      'An image that is transparent where the edit happens: a file or a string like `image`, or in JSON an object with `image_url`. All other pixels stay identical.',
    schema: { anyOf: [...oneImage, { $ref: '#/components/schemas/ImageReference' }] },
    check: (value) =>
      typeof value === 'string' || value instanceof UploadedFile || isReference(value)
        ? null
        : 'must be a file, a string or an object with image_url',
  })
  mask?: WireImage | ImageReference;

  @TextField({
    description: 'What the result shows.',
    required: true,
    minLength: 1,
    notBlank: true,
    maxLength: 32_000,
    example: 'A blue apple',
  })
  prompt!: string;

  @ChoiceField(['transparent', 'opaque', 'auto'], {
    description: 'Accepted without effect.',
    nullable: true,
    default: 'auto',
  })
  background?: string;

  @ChoiceField(['auto', 'high', 'medium', 'low', 'standard'], {
    description: 'Accepted without effect.',
    nullable: true,
    default: 'auto',
  })
  quality?: string;

  @ChoiceField(['high', 'low'], { description: 'Accepted without effect.', nullable: true })
  input_fidelity?: string;

  @BooleanField(streamHelp)
  stream?: boolean;

  @IntegerField(partialImagesHelp)
  partial_images?: number;
}

/** `POST /images/variations`. */
export class VaryImageRequest extends ImageFromImageRequest {
  @FileField({ description: `${imageHelp} Or an http URL.`, required: true, orText: true, mayBeEmpty: true })
  image!: WireImage;
}
