import { PlatformError } from '#common';
import { checkLength, checkOneOf, invalidField, refuseFields } from '#gateway';
import { isGiven } from '#platform/http';
import type { Pricing } from '#model-registry/manifest';
import { hasPrice } from '../contract/index.js';
import type { QueueVideoRequest, QuoteVideoRequest } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';

/** Fields that a model takes only if its record lists them in `supported_inputs`. */
const optionalInputs = [
  'negative_prompt',
  'seed',
  'fps',
  'bitrate_mode',
  'image_url',
  'end_image_url',
  'video_url',
  'audio_url',
  'reference_image_urls',
  'reference_video_urls',
  'reference_audio_urls',
  'reference_document_urls',
  'elements',
  'scene_image_urls',
  'keyframes',
  'omni_reference_task_type',
] as const satisfies readonly (keyof QueueVideoRequest)[];

const consentFields = ['confirmed_terms_and_privacy', 'confirmed_legal_right', 'confirmed_screening_acknowledged'];

/** Throws `INVALID_REQUEST` for the first field that the model does not take, or whose value is unknown. */
export function refuseForeignFields(body: QueueVideoRequest, model: VideoModel): void {
  const foreign = optionalInputs.filter((field) => !model.inputs.has(field));
  refuseFields(body, foreign, model);
  // The documented default changes nothing, and clients send it.
  if (body.audio === false && !model.audioConfigurable) {
    throw invalidField(`audio cannot be chosen with the model ${model.id}.`, 'audio');
  }
  refuseConsents(body, model);
  if (isGiven(body.prompt) && model.kind !== 'upscaler') checkLength('prompt', body.prompt, model.promptCharacters);
  refuseOfKind(body, model);
}

/** Throws `INVALID_REQUEST` for fields that models of this kind do not take, or not with this value. */
export function refuseOfKind(body: QueueVideoRequest | QuoteVideoRequest, model: VideoModel): void {
  if (model.kind === 'upscaler') refuseForUpscalers(body, model);
  else refuseForMakers(body, model);
}

function refuseForUpscalers(body: Partial<QueueVideoRequest>, { id }: VideoModel): void {
  const fields = ['prompt', 'resolution', 'aspect_ratio'] as const;
  const field = fields.find((name) => isGiven(body[name]) && (name !== 'prompt' || body.prompt !== ''));
  if (field !== undefined) throw invalidField(`${field} is not taken by the upscaler ${id}.`, field);
}

function refuseForMakers(body: QuoteVideoRequest, model: VideoModel): void {
  const { upscale_factor: factor, duration } = body;
  if (isGiven(factor)) throw invalidField('upscale_factor is for upscalers.', 'upscale_factor');
  const spelled = model.durations.find((known) => known.toLowerCase() === duration.toLowerCase());
  refuseUnknown('duration', spelled ?? duration, model.durations);
  if (isGiven(body.aspect_ratio)) refuseUnknown('aspect_ratio', body.aspect_ratio, model.aspectRatios);
  if (isGiven(body.resolution)) refuseUnknown('resolution', body.resolution, model.resolutions);
}

function refuseUnknown(field: string, value: string, known: readonly string[]): void {
  if (known.length === 0) throw invalidField(`${field} is not taken by this model.`, field);
  checkOneOf(field, value, known);
}

/** The priced unit of a job and the field that chose it. */
export interface PricedChoice {
  unit: string;
  param: 'resolution' | 'upscale_factor' | 'video_url';
}

/** Throws `INVALID_REQUEST` if the model has prices but none for this unit. */
export function refuseUnpriced({ id }: VideoModel, pricing: Pricing | null, { unit, param }: PricedChoice): void {
  if (hasPrice(pricing, unit)) return;
  throw invalidField(`the model ${id} has no price for this ${param}.`, param);
}

/** Throws `VIDEO_DURATION_TOO_LONG` for a source whose stated length exceeds the model's limit. */
export function refuseLongSource({ maxSourceSeconds: max }: VideoModel, seconds: number): void {
  if (seconds <= max) return;
  const message = `The video is longer than ${max} seconds.`;
  throw new PlatformError('VIDEO_DURATION_TOO_LONG', message, 'reference_video_total_duration');
}

/** Accepts only the confirmations that the model's flow requires, and only `true`. */
function refuseConsents({ consents }: QueueVideoRequest, { consent, id }: VideoModel): void {
  if (!isGiven(consents)) return;
  for (const [flow, confirmed] of Object.entries(consents as Record<string, object | null>)) {
    if (flow !== consent?.flow) {
      throw invalidField(`consents.${flow} is no consent that the model ${id} asks for.`, `consents.${flow}`);
    }
    for (const [name, value] of Object.entries(confirmed ?? {})) {
      const param = `consents.${flow}.${name}`;
      if (!consentFields.includes(name)) throw invalidField(`${param} is unknown.`, param);
      if (value !== true) throw invalidField(`${param} must be true.`, param, 'invalid_enum_value');
    }
  }
}
