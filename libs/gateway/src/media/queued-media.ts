import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type ErrorCode, errorEntry, PlatformError } from '#common';
import type { ModelManifest, ModelType } from '#model-registry/manifest';
import { callerOf } from '#platform/http';
import type { ArtifactStore } from '#storage';
import type { MediaJob, MediaJobKey, MediaJobsRepository } from '#jobs';
import type { InferenceServices, RequestSettings } from '../pipeline/inference-services.js';
import type { LimitedRequest } from '../limits/model-limit.js';

/* The second half of an async job's life: whoever queued it asks how it is doing, takes the result, and lets it go. */

/** What these need of the process. */
export interface QueuedMediaDependencies {
  mediaJobs: Pick<MediaJobsRepository, 'find' | 'markDeleted' | 'usualDurationMs'>;
  artifacts: ArtifactStore;
  settings: Pick<RequestSettings, 'storageLifetimeMs'>;
}

/** How an async job is doing, in the contract's words. */
export interface MediaTiming {
  status: 'PROCESSING' | 'COMPLETED';
  /** In how many ms four of five of the last runs of the model were done; 0 before there was one. */
  average_execution_time: number;
  /** Ms that this one has run. */
  execution_duration: number;
}

/** What became of a job that has not failed. */
export interface FoundMedia {
  timing: MediaTiming;
  job: MediaJob;
}

const away: readonly ErrorCode[] = ['MODEL_AT_CAPACITY', 'MODEL_OFFLINE', 'SERVICE_UNAVAILABLE'];

/**
 * The job of a caller, running or done. Rejects with `MEDIA_NOT_FOUND` where it is unknown, somebody else's, of another
 * model, deleted or expired, and with what it failed of: `CONTENT_POLICY_VIOLATION`, a code of status 503 where no
 * worker was left for it, else `INFERENCE_FAILED`.
 */
export async function findMedia(
  { mediaJobs, artifacts, settings }: QueuedMediaDependencies,
  key: MediaJobKey,
): Promise<FoundMedia> {
  const job = await known(() => mediaJobs.find(key));
  if (job === null || job.isDeleted) throw notFound();
  const isOpen = job.state === 'queued' || job.state === 'running';
  // How long a result is there, the storage knows; a failure has none, and is told for as long.
  if (!isOpen && job.state !== 'succeeded') {
    throw (job.endedForMs ?? 0) > settings.storageLifetimeMs ? notFound() : failureOf(job);
  }
  if (!isOpen && (await artifacts.find(job.resultArtifacts[0] ?? '')) === null) throw notFound();
  const usualMs = await known(() => mediaJobs.usualDurationMs(key.modelId));
  return {
    job,
    timing: {
      status: isOpen ? 'PROCESSING' : 'COMPLETED',
      average_execution_time: usualMs ?? 0,
      execution_duration: job.runningMs,
    },
  };
}

/**
 * Sends the result of a job as the body. With `deleteAfter` it is gone before its last byte is: whoever has the whole
 * gets it once, and whoever lost the connection may ask again.
 */
export async function sendMedia(
  { mediaJobs, artifacts }: QueuedMediaDependencies,
  reply: FastifyReply,
  { job, deleteAfter }: { job: MediaJob; deleteAfter: boolean },
): Promise<void> {
  const artifactId = job.resultArtifacts[0] ?? '';
  const { record, stream } = await artifacts.open(artifactId);
  const body = deleteAfter
    ? Readable.from(
        endingWith(stream, async () => {
          await mediaJobs.markDeleted(job.requestId);
          await artifacts.delete(artifactId);
        }),
        { objectMode: false },
      )
    : stream;
  const raw: ServerResponse = reply.raw;
  // A caller who leaves lets the rest go unread; one who had left before this moment, all of it.
  raw.once('close', () => stream.destroy());
  body.once('close', () => stream.destroy());
  void reply.status(200).type(record.contentType).header('content-length', record.bytes).send(body);
}

/**
 * Deletes the result of a job that has ended. False while it runs, or when its result could not be deleted: then a later
 * call may. Rejects with `MEDIA_NOT_FOUND` where the caller has no such job.
 */
export async function completeMedia(
  { mediaJobs, artifacts }: QueuedMediaDependencies,
  key: MediaJobKey,
): Promise<boolean> {
  const job = await known(() => mediaJobs.find(key));
  if (job === null) throw notFound();
  if (job.state === 'queued' || job.state === 'running') return false;
  await known(() => mediaJobs.markDeleted(job.requestId));
  try {
    for (const id of job.resultArtifacts) await artifacts.delete(id);
    return true;
  } catch {
    // The caller hears that it is not done, and asks again; what is left expires by itself.
    return false;
  }
}

/** How a caller names a job: by its model, of these types, and by the id that queueing it answered. */
export interface MediaName {
  model: string;
  queueId: string;
  types: readonly [ModelType, ...ModelType[]];
}

/**
 * The key of a job that its caller asks after, once the limits of the model let the question through. Rejects as
 * `InferenceServices.limit` does, and as `InferenceServices.resolve` does when the registry is away.
 */
export async function keyOfMedia(
  services: Pick<InferenceServices, 'resolve' | 'limit'>,
  exchange: LimitedRequest,
  { model: name, queueId, types }: MediaName,
): Promise<MediaJobKey> {
  const { request } = exchange;
  const model = await modelOfMedia(services, { name, types, headers: request.headers });
  await services.limit(exchange, { model, action: 'retrieve' });
  return { modelId: model.id, queueId, accountId: callerOf(request).accountId };
}

/**
 * The model that a job was queued with, by the name its caller gives. A model that is gone since is known by its id
 * alone: what it made is still there, also for a key that may not call it any more.
 */
async function modelOfMedia(
  { resolve }: Pick<InferenceServices, 'resolve'>,
  { name, types, headers }: { name: string; types: MediaName['types']; headers: IncomingHttpHeaders },
): Promise<Pick<ModelManifest, 'id' | 'type' | 'tier'>> {
  for (const type of types) {
    try {
      const { manifest, resolvedBy } = await resolve(name, type, { headers, caller: null });
      if (resolvedBy !== 'remap') return manifest;
    } catch (error) {
      if (!(error instanceof PlatformError) || (errorEntry(error.code).status ?? 500) >= 500) throw error;
    }
  }
  return { id: name, type: types[0], tier: 'S' };
}

/** Passes a stream on; what it ends with happens before its last part goes out. */
async function* endingWith(stream: Readable, end: () => Promise<void>): AsyncGenerator<Buffer> {
  let held: Buffer | null = null;
  for await (const part of stream) {
    if (held !== null) yield held;
    held = part as Buffer;
  }
  await end();
  if (held !== null) yield held;
}

function failureOf({ error, state }: MediaJob): PlatformError {
  // It has ended: asking again changes nothing.
  const options = { retry: 'never' } as const;
  if (state === 'expired') {
    return new PlatformError(
      'INFERENCE_FAILED',
      'The job did not end within its time. It costs nothing.',
      null,
      options,
    );
  }
  const { code, message } = error ?? { code: 'INFERENCE_FAILED', message: null };
  const words = message ?? 'The job failed. It costs nothing.';
  if (code === 'CONTENT_POLICY_VIOLATION' || away.includes(code)) return new PlatformError(code, words, null, options);
  const wasAway = errorEntry(code).status === 503;
  return new PlatformError(wasAway ? 'MODEL_OFFLINE' : 'INFERENCE_FAILED', words, null, options);
}

function notFound(): PlatformError {
  return new PlatformError('MEDIA_NOT_FOUND', 'There is no such job, or its result is gone.', 'queue_id');
}

async function known<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot look jobs up right now.', null, { cause });
  }
}
