import { charactersOf, PlatformError } from '#common';
import { fieldFault, isGiven } from '#platform/http';
import type { Pricing } from '#model-registry/manifest';
import { hasPrice } from '../contract/index.js';
import type { QueueVideoRequest } from '../contract/video.request.js';
import type { VideoModel } from './video.model.js';

/** Fields that a model takes only when its record lists them in `supported_inputs`. */
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

/** Throws `INVALID_REQUEST` for the first field that the model does not take, or whose value it does not know. */
export function refuseForeignFields(wire: QueueVideoRequest, model: VideoModel): void {
  const foreign = optionalInputs.find((field) => isGiven(wire[field]) && !model.inputs.has(field));
  if (foreign !== undefined) throw fieldFault(`${foreign} is not taken by the model ${model.id}`, foreign, 'custom');
  if (isGiven(wire.audio) && !model.audioConfigurable) {
    throw fieldFault(`audio cannot be chosen with the model ${model.id}`, 'audio', 'custom');
  }
  refuseConsents(wire, model);
  if (model.kind === 'upscaler') refuseForUpscalers(wire, model);
  else refuseForMakers(wire, model);
}

function refuseForUpscalers({ prompt, resolution, aspect_ratio: ratio }: QueueVideoRequest, { id }: VideoModel): void {
  if (isGiven(prompt) && prompt !== '')
    throw fieldFault(`prompt is not taken by the upscaler ${id}`, 'prompt', 'custom');
  if (isGiven(resolution)) throw fieldFault(`resolution is not taken by the upscaler ${id}`, 'resolution', 'custom');
  if (isGiven(ratio)) throw fieldFault(`aspect_ratio is not taken by the upscaler ${id}`, 'aspect_ratio', 'custom');
}

function refuseForMakers(wire: QueueVideoRequest, model: VideoModel): void {
  const { prompt, upscale_factor: factor, duration } = wire;
  if (isGiven(factor)) throw fieldFault('upscale_factor is for upscalers', 'upscale_factor', 'custom');
  if (isGiven(prompt) && charactersOf(prompt) > model.promptCharacters) {
    throw fieldFault(`prompt may have ${model.promptCharacters} characters with this model`, 'prompt', 'too_big');
  }
  refuseUnknown('duration', duration, model.durations);
  if (isGiven(wire.aspect_ratio)) refuseUnknown('aspect_ratio', wire.aspect_ratio, model.aspectRatios);
  if (isGiven(wire.resolution)) refuseUnknown('resolution', wire.resolution, model.resolutions);
}

function refuseUnknown(field: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  if (known.length === 0) throw fieldFault(`${field} is not taken by this model`, field, 'custom');
  throw fieldFault(`${field} must be one of: ${known.join(', ')}`, field, 'invalid_enum_value');
}

/** What a job needs a price for: its unit, and the field that chose it. */
export interface PricedChoice {
  unit: string;
  param: 'resolution' | 'upscale_factor' | 'video_url';
}

/** Throws `INVALID_REQUEST` where the model has prices, and none for this. */
export function refuseUnpriced({ id }: VideoModel, pricing: Pricing | null, { unit, param }: PricedChoice): void {
  if (hasPrice(pricing, unit)) return;
  throw fieldFault(`the model ${id} has no price for this ${param}`, param, 'custom');
}

/** Throws `VIDEO_DURATION_TOO_LONG` for a source that is said to be longer than the model takes, as one that is. */
export function refuseLongSource({ maxSourceSeconds: max }: VideoModel, seconds: number): void {
  if (seconds <= max) return;
  const message = `The video is longer than ${max} seconds.`;
  throw new PlatformError('VIDEO_DURATION_TOO_LONG', message, 'reference_video_total_duration');
}

/** Only what a flow asks for may be confirmed, and only with yes (contract 8.2). */
function refuseConsents({ consents }: QueueVideoRequest, { consent, id }: VideoModel): void {
  if (!isGiven(consents)) return;
  for (const [flow, confirmed] of Object.entries(consents as Record<string, object | null>)) {
    if (flow !== consent?.flow) {
      throw fieldFault(`consents.${flow} is no consent that the model ${id} asks for`, `consents.${flow}`, 'custom');
    }
    for (const [name, value] of Object.entries(confirmed ?? {})) {
      const param = `consents.${flow}.${name}`;
      if (!consentFields.includes(name)) throw fieldFault(`${param} is unknown`, param, 'custom');
      if (value !== true) throw fieldFault(`${param} must be true`, param, 'invalid_enum_value');
    }
  }
}
