import { Readable } from 'node:stream';
import { Injectable, StreamableFile } from '@nestjs/common';
import { type ErrorCode, errorEntry, PlatformError } from '#common';
import type { ModelManifest, ModelType } from '#model-registry/manifest';
import { type MediaJob, type MediaJobKey, MediaJobsRepository } from '#jobs';
import { ApiConfig } from '#platform/config';
import type { HttpExchange } from '#platform/http';
import { ArtifactStore } from '#storage';
import { ModelAvailabilityWatcher, type ReplicaState } from '../pipeline/model-availability-watcher.js';
import { ModelResolver } from '../pipeline/model-resolver.js';
import { modelHeaders } from '../request/request-headers.js';
import { RequestPipeline } from '../pipeline/request-pipeline.js';

/** How an async job is doing, in the contract's words. */
export interface MediaTiming {
  status: 'PROCESSING' | 'COMPLETED';
  /** 80th percentile of the run time of the model's last jobs, in ms; 0 before the first. */
  average_execution_time: number;
  /** Run time of this job, in ms. */
  execution_duration: number;
}

/** Why a job has not started: no worker has the model, one loads it, or other jobs are first. */
const queuedReasons: Record<ReplicaState, string> = {
  absent: 'no-worker',
  loading: 'model-loading',
  ready: 'waiting-for-turn',
};

/** How a caller names a job: by its model, of these types, and by the id that queueing it returned. */
export interface MediaName {
  model: string;
  queue_id: string;
  delete_media_on_completion?: boolean | null;
}

type MediaTypes = readonly [ModelType, ...ModelType[]];

/** A job that has not failed. */
export interface FoundMedia {
  timing: MediaTiming;
  job: MediaJob;
}

const away: readonly ErrorCode[] = ['MODEL_AT_CAPACITY', 'MODEL_OFFLINE', 'SERVICE_UNAVAILABLE'];

/** The second half of an async job's life: its caller asks about it, takes the result, and deletes it. */
@Injectable()
export class QueuedMedia {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly models: ModelResolver,
    private readonly mediaJobs: MediaJobsRepository,
    private readonly artifacts: ArtifactStore,
    private readonly config: ApiConfig,
    private readonly replicas: ModelAvailabilityWatcher,
  ) {}

  /** Returns the result of a job, or its progress while it runs or where its result is delivered by link. Rejects as `find` does. */
  async retrieve(http: HttpExchange, name: MediaName, types: MediaTypes): Promise<MediaTiming | StreamableFile> {
    const key = await this.keyOf(http, name, types);
    const { job, timing } = await this.find(key);
    void http.reply.header('x-service-progress-percent', job.progressPercent);
    if (job.state === 'queued')
      void http.reply.header('x-service-queued-reason', queuedReasons[this.replicas.stateOf(key.modelId)]);
    if (timing.status === 'PROCESSING' || job.delivery === 'link') return timing;
    return await this.open({ job, deleteAfter: name.delete_media_on_completion ?? false });
  }

  /**
   * Deletes the result of a job that has ended. `success` is false while it runs, or when its result could not be deleted:
   * then a later call may. Rejects with `MEDIA_NOT_FOUND` where the caller has no such job.
   */
  async complete(http: HttpExchange, name: MediaName, types: MediaTypes): Promise<{ success: boolean }> {
    const key = await this.keyOf(http, name, types);
    const job = await known(() => this.mediaJobs.find(key));
    if (job === null) throw notFound();
    if (job.state === 'queued' || job.state === 'running') return { success: false };
    await known(() => this.mediaJobs.markDeleted(job.requestId));
    try {
      for (const id of job.resultArtifacts) await this.artifacts.delete(id);
      return { success: true };
    } catch {
      // The caller may try again, and what is left expires by itself.
      return { success: false };
    }
  }

  /**
   * The job of a caller, running or done. Rejects with `MEDIA_NOT_FOUND` where it is unknown, another account's, of
   * another model, deleted or expired, and with what it failed of: `CONTENT_POLICY_VIOLATION`, a code of status 503 where
   * no worker was left for it, else `INFERENCE_FAILED`.
   */
  async find(key: MediaJobKey): Promise<FoundMedia> {
    const job = await known(() => this.mediaJobs.find(key));
    if (job === null || job.isDeleted) throw notFound();
    const isOpen = job.state === 'queued' || job.state === 'running';
    // The storage knows how long a result exists. A failure has no result, and is reported for as long.
    if (!isOpen && job.state !== 'succeeded') {
      throw (job.endedForMs ?? 0) > this.config.storageLifetimeMs ? notFound() : failureOf(job);
    }
    if (!isOpen && (await this.artifacts.find(job.resultArtifacts[0] ?? '')) === null) throw notFound();
    const defaultMs = await known(() => this.mediaJobs.expectedDurationMs(key.modelId));
    return {
      job,
      timing: {
        status: isOpen ? 'PROCESSING' : 'COMPLETED',
        average_execution_time: defaultMs ?? 0,
        execution_duration: job.runningMs,
      },
    };
  }

  /**
   * Opens the result of a job as a response. With `deleteAfter` it is deleted before its last byte is sent: whoever received
   * all of it gets it once, and whoever lost the connection may ask again.
   */
  async open({ job, deleteAfter }: { job: MediaJob; deleteAfter: boolean }): Promise<StreamableFile> {
    const artifactId = job.resultArtifacts[0] ?? '';
    const { record, stream } = await this.artifacts.open(artifactId);
    const body = deleteAfter
      ? Readable.from(
          endingWith(stream, async () => {
            await this.mediaJobs.markDeleted(job.requestId);
            await this.artifacts.delete(artifactId);
          }),
          { objectMode: false },
        )
      : stream;
    // Nest ends the body where the client disconnects; then the rest is not read.
    body.once('close', () => stream.destroy());
    return new StreamableFile(body, { type: record.contentType, length: record.bytes });
  }

  /** The key of a job, once the limits of its model let the question through. */
  private async keyOf(http: HttpExchange, { model: name, queue_id: queueId }: MediaName, types: MediaTypes) {
    const model = await this.modelOf(http, name, types);
    await this.pipeline.limit(http, { model, action: 'retrieve' });
    return { modelId: model.id, queueId, accountId: http.caller.accountId };
  }

  /**
   * The model that a job was queued with, by the name its caller gives. A model that was removed since is known by its id
   * alone: its results still exist, also for a key that may not call it any more.
   */
  private async modelOf(
    { request, reply }: HttpExchange,
    name: string,
    types: MediaTypes,
  ): Promise<Pick<ModelManifest, 'id' | 'type' | 'tier'>> {
    for (const type of types) {
      try {
        const { manifest, resolvedBy, deprecation } = await this.models.resolve(name, type, {
          headers: request.headers,
          caller: null,
        });
        if (resolvedBy !== 'remap') {
          void reply.headers(modelHeaders({ manifest, deprecation }));
          return manifest;
        }
      } catch (error) {
        if (!(error instanceof PlatformError) || (errorEntry(error.code).status ?? 500) >= 500) throw error;
      }
    }
    return { id: name, type: types[0], tier: 'S' };
  }
}

/** Passes a stream on; `end` runs before the last part is sent. */
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
