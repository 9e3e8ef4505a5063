import type { JobDefinition } from '#queue';
import type { JobUsage } from '#common';
import type { ModelManifest, ModelType, TextPricing } from '#model-registry/manifest';
import { audioChargeLines, audioJob, type AudioPricing } from '#modalities/audio/contract';
import { chatChargeLines, chatJob } from '#modalities/chat/contract';
import { embeddingChargeLines, embeddingJob, type EmbeddingPricing } from '#modalities/embedding/contract';
import { imageJob, imageChargeLines, type ImageJobPricing } from '#modalities/image/contract';
import { speechChargeLines, speechJob, type SpeechPricing } from '#modalities/speech/contract';
import {
  transcriptionChargeLines,
  transcriptionJob,
  type TranscriptionPricing,
} from '#modalities/transcription/contract';
import { videoChargeLines, videoJob, type VideoPricing } from '#modalities/video/contract';

/**
 * Every kind of work the house does. A new slice is a folder and a line here; the compiler then asks both sides for
 * their part: `satisfies` on the record below names a slice that has no job, `ProcessorsOf` and `ControllersOf` make
 * each app's own record complete. Only contracts are imported, so that the api pulls no processor and the worker no
 * controller.
 */
export const catalog = {
  audio: audioJob,
  chat: chatJob,
  embedding: embeddingJob,
  image: imageJob,
  speech: speechJob,
  transcription: transcriptionJob,
  video: videoJob,
} as const satisfies Record<string, JobDefinition<object, object>>;

export type ModalityName = keyof typeof catalog;

/** What has been used, and the price list it is billed by. */
interface MeteredUsage {
  modality: string;
  modelId: string;
  usage: JobUsage;
  pricing: object | null;
}

const meters = {
  audio: ({ modelId, usage, pricing }: MeteredUsage) =>
    audioChargeLines(modelId, usage, pricing as AudioPricing | null),
  chat: ({ modelId, usage, pricing }: MeteredUsage) => chatChargeLines(modelId, usage, pricing as TextPricing | null),
  embedding: ({ modelId, usage, pricing }: MeteredUsage) =>
    embeddingChargeLines(modelId, usage, pricing as EmbeddingPricing | null),
  image: ({ modelId, usage, pricing }: MeteredUsage) =>
    imageChargeLines(modelId, usage, pricing as ImageJobPricing | null),
  speech: ({ modelId, usage, pricing }: MeteredUsage) =>
    speechChargeLines(modelId, usage, pricing as SpeechPricing | null),
  transcription: ({ modelId, usage, pricing }: MeteredUsage) =>
    transcriptionChargeLines(modelId, usage, pricing as TranscriptionPricing | null),
  video: ({ modelId, usage, pricing }: MeteredUsage) =>
    videoChargeLines(modelId, usage, pricing as VideoPricing | null),
} satisfies Record<ModalityName, (job: MeteredUsage) => object[]>;

/** The positions a job is charged for, by the meter of its slice. */
export function meterJob(job: MeteredUsage): ReturnType<(typeof meters)[ModalityName]> {
  // A row of a slice that is gone can be closed, but nobody knows its prices.
  return isModality(job.modality) ? meters[job.modality](job) : [];
}

/** What a worker must have: something for each slice, and nothing else. */
export type ProcessorsOf<Processor> = { readonly [Name in ModalityName]: Processor };

/** What the api must have: the controllers of each slice. */
export type ControllersOf<Controller> = { readonly [Name in ModalityName]: Controller };

/** The slices whose jobs a model of a type runs; a model may serve several, as a voice does short and long texts. */
const modalitiesByType: Readonly<Record<ModelType, readonly ModalityName[]>> = {
  text: ['chat'],
  embedding: ['embedding'],
  image: ['image'],
  upscale: ['image'],
  inpaint: ['image'],
  tts: ['speech', 'audio'],
  asr: ['transcription'],
  music: ['audio'],
  video: ['video'],
};

export function modalitiesOf({ type, internal }: ModelManifest): readonly ModalityName[] {
  return internal ? [] : modalitiesByType[type];
}

export function isModality(name: string): name is ModalityName {
  return Object.hasOwn(catalog, name);
}
