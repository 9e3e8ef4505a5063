import type { FastifyRequest } from 'fastify';
import type { Caller } from '#accounts';
import type { ModelPrice } from '#billing';
import type { ErrorIssue, NanoUsd, PlatformError } from '#common';
import type { Egress } from '#egress';
import type { MediaTools } from '#media';
import type { ResolvedModel } from '#model-registry';
import type { ModelType } from '#model-registry/manifest';
import type { ReplyStream } from '#queue';
import type { ArtifactStore } from '#storage';
import type { MediaJobsRepository, OpenRequest } from '#jobs';
import type { AvailabilityLease } from './job-stream.js';
import type { AdmittedUse, LimitedRequest, ModelDemand } from '../limits/model-limit.js';

/** Who asks for a model: the headers say where from, the key which models it may call; without one, all. */
export type ModelRequester = Pick<FastifyRequest, 'headers' | 'caller'> & { id?: string };

/** What the routes of every slice need of the process they run in; the app wires it. */
export interface InferenceServices {
  /**
   * The model of a type that a name means to who asks, also one that no worker holds. Rejects as
   * `ModelRegistryService.resolve` does, and with `UNAUTHORIZED` where the key may not call it (`modelPrivacy`).
   */
  resolve(model: string, type: ModelType, requester: ModelRequester): Promise<ResolvedModel>;
  /**
   * Holds a valid request to the rate limits of its model, after `resolve` and validation and before anything is quoted;
   * its route is `@LimitedByModel`. Sets `x-ratelimit-*` on the answer. Rejects with `RATE_LIMIT_EXCEEDED`, and with
   * `SERVICE_UNAVAILABLE` when the limits cannot be checked.
   */
  limit(exchange: LimitedRequest, demand: ModelDemand): Promise<AdmittedUse>;
  openReplyStream(requestId: string): ReplyStream;
  /** Where workers send the events of a job. */
  replyTo(): string;
  /**
   * The text as the default chat model rewrites it by an instruction. Null when no such model is there or anything
   * fails; never rejects. It costs nothing by itself.
   */
  rewrite(text: string, options: RewriteOptions): Promise<string | null>;
  /** What a model costs now; the request that asks waits as long as its budget lasts. Rejects with `SERVICE_UNAVAILABLE`. */
  price(modelId: string, requestId?: string): Promise<ModelPrice>;
  /** Rejects with `MODEL_AT_CAPACITY`, `SERVICE_UNAVAILABLE`, or `ReservationRefused` when it cannot be paid. */
  admit(request: OpenRequest): Promise<unknown>;
  /** How long a request has waited for the stores until now, in ms: its deadline includes it. */
  waitedMs(requestId: string): number;
  markStarted(requestId: string): void;
  /** For jobs whose last event has come. */
  markEnded(requestId: string): void;
  cancel(requestId: string): Promise<void>;
  /** Called with what `cancel` could not do; the deadline stands behind it. */
  cancelFailed(requestId: string, error: unknown): void;
  /** Body of an error frame, in OpenAI's words. */
  errorFrame(error: PlatformError): { error: object; issues?: ErrorIssue[] };
  /** Watches whether anybody alive holds a model, until released: for 2 s, or for `patienceMs`, nobody may. */
  watchAvailability(modelId: string, patienceMs?: number): AvailabilityLease;
  /** Inputs and results of media jobs, by reference. */
  artifacts: ArtifactStore;
  /** Async jobs as their owners see them. */
  mediaJobs: Pick<MediaJobsRepository, 'find' | 'markDeleted' | 'usualDurationMs'>;
  /** A link to an artifact, whole, as the sender of `request` reaches us; it needs no credentials. */
  downloadUrl(artifactId: string, request: FastifyRequest): string;
  /** Reads and writes sound and video; may be missing on this machine. */
  media: MediaTools;
  /** The one way to URLs that callers name. */
  egress: Egress;
  /** Aborts when the process stops and its grace is over. */
  stopping: AbortSignal;
  settings: RequestSettings;
}

export interface RewriteOptions {
  /** What is to become of the text. */
  instruction: string;
  caller: Caller;
  /** Of the request, for the models that its caller may use. */
  headers: ModelRequester['headers'];
  /** The caller's connection. */
  disconnected: AbortSignal;
  /** Ms it may take. */
  deadlineMs: number;
  /** What the caller must have left meanwhile, so that nobody gets for nothing what will be charged afterwards. */
  holdNano: NanoUsd;
}

export interface RequestSettings {
  /** How long an answer of a text model may take, in ms. */
  chatDeadlineMs: number;
  /** How long an async job of audio or video may take, in ms. */
  mediaDeadlineMs: number;
  /** How long the result of an async job is kept, and what it failed of, in ms. */
  storageLifetimeMs: number;
  /** Silence after which a stream gets a comment, in ms. */
  keepAliveMs: number;
  /** How long a reader may take nothing, in ms. */
  stalledMs: number;
}

/** Token of `InferenceServices` for Nest. */
export const inferenceServices = Symbol('InferenceServices');
