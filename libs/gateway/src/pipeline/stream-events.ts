import type { FastifyReply } from 'fastify';
import { type JobUsage, PlatformError } from '#common';
import { sseData, SseWriter, type SseWriterOptions } from '#platform/http';
import type { ReplyEvent } from '#queue';
import { errorFrame } from '../errors/error-envelope.js';
import type { StartedJob } from './job-runner.js';
import { ClientDisconnectedError } from './job-stream.js';

/** Turns the events of a job into the JSON of server-sent events. */
export interface EventPresenter<Event extends ReplyEvent> {
  present(event: Event): string[];
  /** What follows the last event, before `[DONE]`. */
  finish(usage: JobUsage): string[];
}

/**
 * Sends a job as server-sent events that end with `[DONE]` or with an error frame. Rejects only while nothing was sent:
 * then the error is still the HTTP response.
 */
export async function streamEvents<Event extends ReplyEvent>(
  reply: FastifyReply,
  job: StartedJob<Event>,
  presenter: EventPresenter<Event>,
  options: SseWriterOptions,
): Promise<void> {
  const writer = new SseWriter(reply, options);
  const send = async (frames: string[]): Promise<void> => {
    if (frames.length === 0) return;
    // The connection of a client that reads nothing was closed: it counts as disconnected.
    if ((await writer.write(frames.map(sseData).join(''))) !== 'written') throw new ClientDisconnectedError();
  };
  writer.startKeepAlive();
  try {
    const usage = await job.follow((event) => send(presenter.present(event)));
    await send([...presenter.finish(usage), '[DONE]']);
    writer.end();
  } catch (error) {
    const { started } = writer;
    if (started && !(error instanceof ClientDisconnectedError)) {
      await writer.write(sseData(JSON.stringify(errorFrame(PlatformError.from(error)))));
    }
    writer.end('failed');
    if (!started) throw error;
  }
}
