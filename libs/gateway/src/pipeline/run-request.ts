import { setTimeout as sleep } from 'node:timers/promises';
import type { JobUsage } from '#common';
import type { ReplyEvent } from '#queue';
import type { OpenRequest } from '#jobs';
import type { InferenceServices } from './inference-services.js';
import { type AbortSources, JobStream } from './job-stream.js';

/** How long a job that can begin, still or again, waits for its model, in ms: longer than a worker takes to come back. */
const queuedPatienceMs = 30_000;

/** How long the end of an exchange waits for its job to be cancelled, in ms; it is cancelled later all the same. */
const cancelWithinMs = 500;

/** Opens the slot of a request before `admit` lets its job in, so that no event can be missed. Rejects as `admit` does. */
export async function openJobStream<Event extends ReplyEvent>(
  services: InferenceServices,
  requestId: string,
  admit: () => Promise<unknown>,
): Promise<JobStream<Event>> {
  const slot = services.openReplyStream(requestId);
  try {
    await admit();
  } catch (error) {
    slot.close();
    throw error;
  }
  const job = {
    started: () => services.markStarted(requestId),
    ended: () => services.markEnded(requestId),
    cancel: async () => {
      const cancelled = services.cancel(requestId).catch((error: unknown) => services.cancelFailed(requestId, error));
      await Promise.race([cancelled, sleep(cancelWithinMs, undefined, { ref: false })]);
    },
  };
  return new JobStream(slot, job, services.waitedMs(requestId));
}

/** Who and what may end an exchange early. */
export function abortSources(
  services: InferenceServices,
  { modelId, disconnected, deadlineMs }: { modelId: string; disconnected: AbortSignal; deadlineMs: number },
): AbortSources {
  const watches = {
    watchAvailability: () => services.watchAvailability(modelId),
    watchQueue: () => services.watchAvailability(modelId, queuedPatienceMs),
  };
  return { disconnected, stopping: services.stopping, ...watches, deadlineMs };
}

/** Who follows a request. */
export interface RequestListeners<Event extends ReplyEvent> {
  /** The caller's connection. */
  disconnected: AbortSignal;
  onEvent: (event: Event) => Promise<void> | void;
  /** The job began anew on another worker: all events so far are void. Without it such a job ends with an error. */
  onRepeat?: () => void;
}

/**
 * One request from its admission to its last event, for slices whose answer is one body. Resolves with what it used;
 * rejects as `InferenceServices.admit` and `JobStream.run` do.
 */
export async function runRequest<Event extends ReplyEvent>(
  services: InferenceServices,
  job: Omit<OpenRequest, 'replyTo' | 'stream'>,
  { disconnected, onEvent, onRepeat }: RequestListeners<Event>,
): Promise<JobUsage> {
  const { requestId, modelId, definition } = job;
  const deadlineMs = job.deadlineMs ?? definition.policy.deadlineMs;
  const exchange = await openJobStream<Event>(services, requestId, () =>
    services.admit({ ...job, deadlineMs, replyTo: services.replyTo(), stream: false }),
  );
  return await exchange.run(abortSources(services, { modelId, disconnected, deadlineMs }), onEvent, onRepeat);
}
