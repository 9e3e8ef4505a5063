import { BooleanField, ChoiceField, FileField, IntegerField, TextField } from '#platform/http';
import { openaiSizes, partialImagesHelp, streamHelp } from './generate.request.js';
import { imageFormats, maxVariants } from './image.job.js';
import { imageHelp, type WireImage } from './image.request.js';

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

  @ChoiceField(openaiSizes, {
    description: '`auto` is the size of the image, as far as the model makes it.',
    nullable: true,
    default: 'auto',
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

/** `POST /images/edits`. */
export class EditImagesRequest extends ImageFromImageRequest {
  @FileField({ description: `${imageHelp} Or an http URL.`, required: true, orText: true, mayBeEmpty: true })
  image!: WireImage;

  @FileField({
    description: 'An image that is transparent where the edit happens. All other pixels stay identical.',
    orText: true,
    mayBeEmpty: true,
  })
  mask?: WireImage;

  @TextField({
    description: 'What the result shows.',
    required: true,
    minLength: 1,
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
