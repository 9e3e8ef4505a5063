import { BooleanField, CheckedField, ChoiceField, IntegerField, ObjectListField, TextField } from '#platform/http';
import { imageFormats, maxVariants } from './image.job.js';
import { ImageNumbers, imageQualities, StyleReference } from './image.request.js';

const longestPrompt = 7_500;

/** `POST /image/generate`. */
export class GenerateImageRequest extends ImageNumbers {
  @TextField({ description: 'Model id, trait or alias.', required: true, minLength: 1, maxLength: 256 })
  model!: string;

  @TextField({
    description: 'What the image shows.',
    required: true,
    minLength: 1,
    notBlank: true,
    maxLength: longestPrompt,
    example: 'A red bird on a branch, in the rain',
  })
  prompt!: string;

  @TextField({ description: 'What the image must not show.', maxLength: longestPrompt })
  negative_prompt?: string;

  @CheckedField({
    name: 'isGuidance',
    description: 'How strictly the prompt is followed: above 0, up to 20.',
    schema: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 20 },
    check: (value) =>
      typeof value === 'number' && value > 0 && value <= 20 ? null : 'must be a number above 0 and not above 20',
  })
  cfg_scale?: number;

  @TextField({ description: 'Aspect ratio, one of the model’s.', maxLength: 16 })
  aspect_ratio?: string;

  @TextField({ description: 'Resolution tier, one of the model’s.', maxLength: 16 })
  resolution?: string;

  @ChoiceField(imageQualities, { description: 'For models that have several; ignored elsewhere.' })
  quality?: string;

  @ChoiceField(imageFormats, { description: 'Format of the images.', default: 'webp' })
  format?: string;

  @BooleanField({ description: 'Respond with the bytes of the image instead of JSON.', default: false })
  return_binary?: boolean;

  @TextField({ description: 'A name of `GET /image/styles`.', maxLength: 64 })
  style_preset?: string;

  @ObjectListField(() => StyleReference, [StyleReference], {
    description: 'Reference images for the style. Refused: no available model supports them.',
    maxItems: 16,
  })
  style_references?: StyleReference[];

  @BooleanField({ description: 'Blur images with adult content.', default: true })
  safe_mode?: boolean;

  @BooleanField({ description: 'Accepted without effect: images carry no watermark.', default: false })
  hide_watermark?: boolean;

  @BooleanField({ description: 'Embed the generation parameters in the image.', default: false })
  embed_exif_metadata?: boolean;

  @BooleanField({ description: 'Have the prompt rewritten before it is used.', default: false })
  enhance_prompt?: boolean;

  @BooleanField({ description: 'Refused: no model searches.' })
  enable_web_search?: boolean;

  @BooleanField({ description: 'Accepted without effect: no available model reasons about prompts.' })
  disable_prompt_optimization_thinking?: boolean;

  @CheckedField({
    name: 'isDead',
    description: 'Deprecated.',
    deprecated: true,
    schema: { nullable: true },
    check: () => null,
  })
  inpaint?: unknown;
}

export const openaiSizes: readonly string[] = [
  'auto',
  '256x256',
  '512x512',
  '1024x1024',
  '1536x1024',
  '1024x1536',
  '1792x1024',
  '1024x1792',
];

export const streamHelp = {
  description: 'Send each image as a server-sent event when it is complete.',
  nullable: true,
  default: false,
};

export const partialImagesHelp = {
  description: 'Accepted without effect: streams send complete images only.',
  nullable: true,
  minimum: 0,
  maximum: 3,
  default: 0,
};

/** `POST /images/generations`, as OpenAI clients send it. */
export class SimpleGenerateImageRequest {
  @TextField({
    description: 'What the image shows.',
    required: true,
    minLength: 1,
    notBlank: true,
    maxLength: 1_500,
    example: 'A red bird on a branch, in the rain',
  })
  prompt!: string;

  @TextField({ description: 'An unknown name selects the default model.', maxLength: 256, default: 'default' })
  model?: string;

  @IntegerField({ description: 'Number of images.', nullable: true, minimum: 1, maximum: maxVariants, default: 1 })
  n?: number;

  @ChoiceField(openaiSizes, {
    description: '`auto` is 1024x1024, or the default size of a model with sizes of its own.',
    nullable: true,
    default: 'auto',
  })
  size?: string;

  @ChoiceField(['b64_json', 'url'], { description: '`url` is a data URL.', nullable: true, default: 'b64_json' })
  response_format?: string;

  @ChoiceField(imageFormats, { description: 'Format of the image.', default: 'png' })
  output_format?: string;

  @ChoiceField(['low', 'auto'], {
    description: '`auto` blurs adult content.',
    nullable: true,
    default: 'auto',
  })
  moderation?: string;

  @ChoiceField(['transparent', 'opaque', 'auto'], { description: 'Accepted.', nullable: true, default: 'auto' })
  background?: string;

  @ChoiceField(['auto', 'high', 'medium', 'low', 'hd', 'standard'], {
    description: 'Accepted.',
    nullable: true,
    default: 'auto',
  })
  quality?: string;

  @ChoiceField(['vivid', 'natural'], { description: 'Accepted.', nullable: true, default: 'natural' })
  style?: string;

  @IntegerField({ description: 'Accepted.', nullable: true, minimum: 0, maximum: 100, default: 100 })
  output_compression?: number;

  @TextField({ description: 'Accepted.' })
  user?: string;

  @BooleanField(streamHelp)
  stream?: boolean;

  @IntegerField(partialImagesHelp)
  partial_images?: number;

  @CheckedField({
    name: 'isUnrecognized',
    description: 'Not a field of this route; `moderation` takes its role here.',
    schema: { nullable: true },
    check: () => "is an unrecognized key; use 'moderation'",
  })
  safe_mode?: unknown;
}
