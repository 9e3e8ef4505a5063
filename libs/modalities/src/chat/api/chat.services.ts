import type { IncomingHttpHeaders } from 'node:http';
import type { ModelPrice } from '#billing';
import type { OpenRequest } from '#jobs';
import type { ResolvedModel } from '#model-registry';
import type { ErrorIssue, PlatformError } from '#common';
import type { MailboxSlot } from '#queue';

/** What the chat routes need of the process they run in; the app wires it. */
export interface ChatServices {
  /**
   * The text model a name means to the caller who sent `headers`, also one that no worker holds. Rejects as
   * `ModelRegistryService.resolve` does.
   */
  resolve(model: string, headers: IncomingHttpHeaders): Promise<ResolvedModel>;
  openSlot(requestId: string): MailboxSlot;
  /** Where workers send the events of a job. */
  replyTo(): string;
  /** What a model costs now. Rejects with `SERVICE_UNAVAILABLE`. */
  price(modelId: string): Promise<ModelPrice>;
  /** Rejects with `MODEL_AT_CAPACITY`, `SERVICE_UNAVAILABLE`, or `ReservationRefused` when it cannot be paid. */
  admit(request: OpenRequest): Promise<unknown>;
  markStarted(requestId: string): void;
  /** For jobs whose last event has come. */
  markEnded(requestId: string): void;
  cancel(requestId: string): Promise<void>;
  /** Called with what `cancel` could not do; the deadline stands behind it. */
  cancelFailed(requestId: string, error: unknown): void;
  /** Body of an error frame, in OpenAI's words. */
  errorFrame(error: PlatformError): { error: object; issues?: ErrorIssue[] };
  /** Watches whether anybody alive holds a model, until released. */
  watchHolder(modelId: string): { lost: AbortSignal; release: () => void };
  /** Aborts when the process stops and its grace is over. */
  stopping: AbortSignal;
  settings: ChatSettings;
}

export interface ChatSettings {
  /** How long an answer may take, in ms. */
  deadlineMs: number;
  /** Silence after which a stream gets a comment, in ms. */
  keepAliveMs: number;
  /** How long a reader may take nothing, in ms. */
  stalledMs: number;
}

/** Token of `ChatServices` for Nest. */
export const chatServices = Symbol('ChatServices');
