import {
  BooleanField,
  CheckedField,
  ChoiceField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  ScalarListField,
  TextField,
} from '#platform/http';

/** Seconds, or a word for "as long as the source" or "once". */
export const videoDurations = [
  ...Array.from({ length: 30 }, (_, index) => `${index + 1}s`),
  '-1',
  '1 gen',
  'auto',
] as const;

export const videoAspectRatios = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '9:21',
  '16:9',
  '21:9',
  'adaptive',
  'auto',
] as const;

export const videoResolutions = [
  '256p',
  '360p',
  '480p',
  '540p',
  '580p',
  '720p',
  '1080p',
  '1440p',
  '2160p',
  '4k',
  '2x',
  '4x',
  '2K',
  '768P',
  'true_1080p',
] as const;

const maxPromptCharacters = 20_000;
/** A day: longer than any model takes. */
const maxReferenceSeconds = 86_400;
const modelHelp = 'Model id, trait or alias.';
const imageHelp = 'An http URL or a data URL.';

/** Same bounds as image seeds. */
export const smallestSeed = -999_999_999;
export const largestSeed = 999_999_999;

/** Keyframe indices count at this rate, whatever the rate of the video. */
export const keyframeRate = 24;

function FactorField(description: string, more: Record<string, unknown> = {}): PropertyDecorator {
  return CheckedField({
    name: 'isIn',
    description,
    schema: { type: 'integer', enum: [1, 2, 4], ...more },
    check: (value) => ([1, 2, 4].includes(value as number) ? null : 'must be one of: 1, 2, 4'),
  });
}

function ConfirmedField(description: string): PropertyDecorator {
  return CheckedField({
    name: 'isIn',
    description,
    required: true,
    schema: { type: 'boolean', enum: [true] },
    check: (value) => (value === true ? null : 'must be true'),
  });
}

/** Fields that determine the price of a video. */
class VideoPricingFields {
  @TextField({ description: modelHelp, required: true, minLength: 1, maxLength: 256, example: 'rife-4.6' })
  model!: string;

  @ChoiceField(videoDurations, {
    description: 'One of `constraints.durations` of the model. Upscalers ignore it.',
    // Some clients spell it so. As a second member of an enumeration it would clash in the code that they generate.
    alsoAccepted: ['Auto'],
    required: true,
    example: '5s',
  })
  duration!: string;

  @ChoiceField(videoAspectRatios, { description: 'One of `constraints.aspect_ratios`, where the model has any.' })
  aspect_ratio?: string;

  @ChoiceField(videoResolutions, { description: 'One of `constraints.resolutions`. Not for upscalers.' })
  resolution?: string;

  @BooleanField({ description: 'Audio, where `constraints.audio_configurable` lets callers choose.', default: true })
  audio?: boolean;
}

/** `POST /video/quote`. */
export class QuoteVideoRequest extends VideoPricingFields {
  @FactorField('Of upscalers.')
  upscale_factor?: number;

  @TextField({ description: 'The video to work on; its length is measured.', minLength: 1 })
  video_url?: string;

  @NumberField({
    description: 'Length of the source in seconds, instead of the source itself.',
    minimum: 0,
    maximum: maxReferenceSeconds,
  })
  reference_video_total_duration?: number;

  @IntegerField({ description: 'Height of the source. No price depends on it today.', minimum: 1 })
  input_height?: number;
}

/** Confirmations by the caller; all must be `true`. */
export class VideoConsent {
  @ConfirmedField('Consent to the terms and the privacy policy.')
  confirmed_terms_and_privacy!: true;

  @ConfirmedField('The right to use the inputs.')
  confirmed_legal_right!: true;

  @ConfirmedField('Consent to screening of the inputs.')
  confirmed_screening_acknowledged!: true;
}

export class VideoConsents {
  @ObjectField(VideoConsent, { description: 'Consent of the flow `seedance`.' })
  seedance?: VideoConsent;
}

/** A person or thing that appears in the video. */
export class VideoElement {
  @TextField({ description: `Front view. ${imageHelp}` })
  frontal_image_url?: string;

  @ScalarListField('string', { description: 'Other views.', maxItems: 3 })
  reference_image_urls?: string[];

  @TextField({ description: 'In motion.' })
  video_url?: string;
}

/** An image and its frame index. */
export class VideoKeyframe {
  @TextField({ description: imageHelp, required: true, minLength: 1 })
  image_url!: string;

  @IntegerField({ description: `Frame index at ${keyframeRate} per second, from 0.`, required: true, minimum: 0 })
  frame_index!: number;
}

/** `POST /video/queue`. */
export class QueueVideoRequest extends VideoPricingFields {
  @TextField({
    description:
      'What the video shows; text-to-video models need it, models that only interpolate images accept and ignore' +
      'it, upscalers refuse it.',
    maxLength: maxPromptCharacters,
    example: 'The boat drifts past the pier.',
  })
  prompt?: string;

  @TextField({ description: 'What the video must not show.', maxLength: maxPromptCharacters })
  negative_prompt?: string;

  @FactorField('Upscalers only.', { default: 2 })
  upscale_factor?: number;

  @IntegerField({ description: 'Frames per second: one of `frame_rates` of the model.', minimum: 1, maximum: 240 })
  fps?: number;

  @IntegerField({
    description: 'The same seed and prompt produce the same video. An extension of this service.',
    minimum: smallestSeed,
    maximum: largestSeed,
  })
  seed?: number;

  @TextField({ description: `The first frame. ${imageHelp}`, minLength: 1 })
  image_url?: string;

  @TextField({ description: `The last frame. ${imageHelp}`, minLength: 1 })
  end_image_url?: string;

  @TextField({ description: 'mp4, mov or webm: an http URL or a data URL.', minLength: 1 })
  video_url?: string;

  @TextField({ description: 'wav or mp3, up to 30 s and 15 MB.', minLength: 1 })
  audio_url?: string;

  @ScalarListField('string', { description: 'Reference images.', maxItems: 30 })
  reference_image_urls?: string[];

  @ScalarListField('string', { description: 'Reference videos.', maxItems: 10 })
  reference_video_urls?: string[];

  @ScalarListField('string', { description: 'Reference audio.', maxItems: 10 })
  reference_audio_urls?: string[];

  @ScalarListField('string', { description: 'A reference document.', maxItems: 1 })
  reference_document_urls?: string[];

  @ObjectListField(() => VideoElement, [VideoElement], { description: 'What appears in the video.', maxItems: 4 })
  elements?: VideoElement[];

  @ScalarListField('string', { description: 'Where it appears.', maxItems: 4 })
  scene_image_urls?: string[];

  @ObjectListField(() => VideoKeyframe, [VideoKeyframe], {
    description: 'Images and their frame indices; each index once, within the duration.',
    maxItems: 10,
  })
  keyframes?: VideoKeyframe[];

  @ChoiceField(['auto', 'reference', 'edit', 'extend'], { description: 'Purpose of the references.' })
  omni_reference_task_type?: string;

  @ChoiceField(['standard', 'high'], { description: 'For models that have several.' })
  bitrate_mode?: string;

  @ObjectField(VideoConsents, { description: 'Confirmations, for models that ask for them (409 `needs_consent`).' })
  consents?: VideoConsents;
}

class VideoJobName {
  @TextField({ description: 'The model the job was queued with.', required: true, minLength: 1, maxLength: 256 })
  model!: string;

  @TextField({ description: 'As returned by `/video/queue`.', required: true, minLength: 1, maxLength: 64 })
  queue_id!: string;
}

/** `POST /video/retrieve`. */
export class RetrieveVideoRequest extends VideoJobName {
  @BooleanField({ description: 'Delete the video once it has been sent.', default: false })
  delete_media_on_completion?: boolean;
}

/** `POST /video/complete`. */
export class CompleteVideoRequest extends VideoJobName {}
