import type { FastifyReply, FastifyRequest } from 'fastify';
import { JobQuote, type ModelPrice } from '#billing';
import { PlatformError } from '#common';
import { balanceHeaders, type InferenceServices, modelHeaders, runRequest } from '#gateway';
import type { ResolvedModel } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import { callerOf } from '#platform/http';
import { discard } from '#storage';
import {
  type ImageEvent,
  imageJob,
  type ImageJobPayload,
  type ImageJobPricing,
  type ImageReadyEvent,
  quoteImages,
} from '../contract/index.js';
import { moderationHeaders } from './moderation-headers.js';

export interface ImageHttpExchange {
  request: FastifyRequest;
  reply: FastifyReply;
  /** The caller's connection. */
  disconnected: AbortSignal;
}

/** The model of a request, there and within the limits of its caller. */
export interface AdmittedModel {
  resolved: ResolvedModel;
  price: ModelPrice;
  tokenReservation: Awaited<ReturnType<InferenceServices['limit']>>['tokenReservation'];
}

export interface FinishedImage {
  bytes: Buffer;
  contentType: string;
  blurred: boolean;
}

export interface FinishedImages {
  images: FinishedImage[];
  /** Ms in the model, over all pictures. */
  executionMs: number;
  /** Ms from the admission to the last picture. */
  jobMs: number;
}

const maxResultBytes = 134_217_728;

/** Resolves the model; rejects with what `resolve` rejects with and `MODEL_OFFLINE`. */
export async function findImageModel(
  services: InferenceServices,
  { request, reply }: ImageHttpExchange,
  { name, type }: { name: string; type: ModelType },
): Promise<ResolvedModel> {
  const resolved = await services.resolve(name, type, request);
  void reply.headers({ ...modelHeaders(resolved), ...replacementHeaders(resolved) });
  if (resolved.offline) {
    throw new PlatformError(
      'MODEL_OFFLINE',
      `No worker holds the model ${resolved.manifest.id} at the moment.`,
      'model',
    );
  }
  return resolved;
}

/** Holds a valid request to the limits of its model and looks up what it costs. */
export async function admitImage(
  services: InferenceServices,
  { request, reply }: ImageHttpExchange,
  resolved: ResolvedModel,
): Promise<AdmittedModel> {
  const { tokenReservation } = await services.limit({ request, reply }, { model: resolved.manifest });
  return { resolved, tokenReservation, price: await services.price(resolved.manifest.id, request.id) };
}

/** From the quote to the last picture. Rejects as `runRequest` does. */
export async function runImage(
  services: InferenceServices,
  { request, reply, disconnected }: ImageHttpExchange,
  { resolved, price, tokenReservation }: AdmittedModel,
  payload: ImageJobPayload,
): Promise<FinishedImages> {
  const units = { ...payload.extraUnits, [payload.priceOfImage]: payload.seeds.length };
  const quote = new JobQuote(quoteImages(units, price.pricing as ImageJobPricing | null), price);
  const job = {
    requestId: request.id,
    caller: callerOf(request),
    definition: imageJob,
    modelId: resolved.manifest.id,
    payload,
    quote,
    tokenReservation,
  };
  const startedAt = performance.now();
  const ready = new Map<number, ImageReadyEvent>();
  try {
    await runRequest<ImageEvent>(services, job, {
      disconnected,
      onEvent: (event) => void ready.set(event.index, event),
      onRepeat: () => ready.clear(),
    });
  } finally {
    void reply.headers(balanceHeaders(quote));
  }
  const jobMs = performance.now() - startedAt;
  const events = [...ready.values()].toSorted((left, right) => left.index - right.index);
  if (events.length !== payload.seeds.length) throw new PlatformError('INFERENCE_FAILED', 'A picture is missing.');
  const images = await Promise.all(events.map((event) => fetchImage(services, event)));
  // Here for all routes, so that none leaves them out.
  void reply.headers(moderationHeaders(images));
  return {
    images,
    executionMs: events.reduce((sum, event) => sum + event.executionMs, 0),
    jobMs,
  };
}

async function fetchImage(
  { artifacts }: InferenceServices,
  { artifactId, blurred }: ImageReadyEvent,
): Promise<FinishedImage> {
  const { record, bytes } = await artifacts.read(artifactId, maxResultBytes);
  await discard(artifacts, [artifactId]);
  return { bytes, contentType: record.contentType, blurred };
}

/** Image routes name the successor of a deprecated model, too (contract 19). */
export function replacementHeaders({ manifest, resolvedBy, deprecation }: ResolvedModel): Record<string, string> {
  if (deprecation === null) return {};
  // Once a model is gone, the manifest is that of its successor.
  const replacement = resolvedBy === 'remap' ? manifest.id : manifest.deprecation?.replacementModelId;
  return {
    'x-service-deprecated': 'true',
    ...(replacement === undefined ? {} : { 'x-service-deprecated-replacement': replacement }),
  };
}
