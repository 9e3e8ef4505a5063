import { directModality, type JobDefinition } from '#queue';
import type { JobUsage } from '#common';
import {
  type BillableUnit,
  type ChargeLine,
  chargeLines,
  type ModelManifest,
  type ModelType,
  type Pricing,
} from '#model-registry/manifest';
import { audioJob, audioUnits } from '#modalities/audio/contract';
import { chatJob, chatUnits } from '#modalities/chat/contract';
import { embeddingJob, embeddingUnits } from '#modalities/embedding/contract';
import { imageJob, imageUnits } from '#modalities/image/contract';
import { rerankJob, rerankUnits } from '#modalities/rerank/contract';
import { speechJob, speechUnits } from '#modalities/speech/contract';
import { transcriptionJob, transcriptionUnits } from '#modalities/transcription/contract';
import { videoJob, videoUnits } from '#modalities/video/contract';
import { type PromptText, promptTextsOf } from './prompt-texts.js';

/**
 * Every kind of job. A new slice is a folder and a line here; the compiler then asks both sides for their part:
 * `satisfies` on the record below names a slice without a job, `ProcessorsOf` and `ControllersOf` make the records of
 * the apps complete. Only contracts are imported, so that the api loads no processor and the worker no controller.
 */
export const catalog = {
  audio: audioJob,
  chat: chatJob,
  embedding: embeddingJob,
  image: imageJob,
  rerank: rerankJob,
  speech: speechJob,
  transcription: transcriptionJob,
  video: videoJob,
} as const satisfies Record<string, JobDefinition<object, object>>;

export type ModalityName = keyof typeof catalog;

/** What was used, and the price list it is billed by. */
interface MeteredUsage {
  modality: string;
  modelId: string;
  usage: JobUsage;
  pricing: Pricing | null;
}

/** A slice only names the units that a job used; `chargeLines` prices them. */
const meters: Record<ModalityName, (usage: JobUsage, pricing: Pricing | null) => BillableUnit[]> = {
  audio: audioUnits,
  chat: chatUnits,
  embedding: embeddingUnits,
  image: imageUnits,
  rerank: rerankUnits,
  speech: speechUnits,
  transcription: transcriptionUnits,
  video: videoUnits,
};

/** Returns the charge lines of a job, by the meter of its slice. */
export function meterJob({ modality, modelId, usage, pricing }: MeteredUsage): ChargeLine[] {
  // A row of a removed slice can still be closed, but its prices are unknown.
  if (isModality(modality)) return chargeLines(modelId, meters[modality](usage, pricing), pricing);
  return modality === directModality ? chargeLines(modelId, directUnits(usage), pricing) : [];
}

/** A direct job counts requests by what answered them. */
function directUnits({ units = {} }: JobUsage): BillableUnit[] {
  return Object.entries(units).map(([name, count]) => ({
    sku: `${name}-request`,
    price: `per_request.${name}`,
    measure: 'piece',
    count,
  }));
}

const textsOf: Record<ModalityName, (payload: never) => PromptText[]> = promptTextsOf;

/** Returns the texts of a job that a content policy has to see. */
export function promptTexts(modality: string, payload: object): PromptText[] {
  return isModality(modality) ? textsOf[modality](payload as never) : [];
}

/** Requires one processor per slice, and no other. */
export type ProcessorsOf<Processor> = { readonly [Name in ModalityName]: Processor };

/** Requires the controllers of every slice. */
export type ControllersOf<Controller> = { readonly [Name in ModalityName]: Controller };

/** The slices that serve a model of each type; a model may serve several, as a voice does short and long texts. */
const modalitiesByType: Readonly<Record<ModelType, readonly ModalityName[]>> = {
  text: ['chat'],
  embedding: ['embedding'],
  rerank: ['rerank'],
  image: ['image'],
  upscale: ['image'],
  inpaint: ['image'],
  tts: ['speech', 'audio'],
  asr: ['transcription'],
  music: ['audio'],
  video: ['video'],
};

/** Internal models have no queue of their own, except those that turn inputs into text or classify them. */
export function modalitiesOf({ type, internal, adapts, classifies }: ModelManifest): readonly ModalityName[] {
  return internal && adapts === undefined && classifies === undefined ? [] : modalitiesByType[type];
}

export function isModality(name: string): name is ModalityName {
  return Object.hasOwn(catalog, name);
}
