import { type JobUsage, PlatformError } from '#common';
import { type HttpExchange, sseData, StreamedResponse, SseWriter } from '#platform/http';
import type { ReplyEvent } from '#queue';
import { errorFrame } from '../errors/error-envelope.js';
import type { StartedJob } from './job-runner.js';
import { ClientDisconnectedError } from './job-stream.js';

/** How the chunks of a stream become events. */
type EventFormat = HttpExchange['format'];

/** Turns the events of a job into the JSON of server-sent events. */
export interface EventPresenter<Event extends ReplyEvent> extends EventFormat {
  present(event: Event): string[];
  /** The chunks after the last event, before the frame that ends the stream. */
  finish(usage: JobUsage): string[] | Promise<string[]>;
}

/** A job as server-sent events that end with the frame of their format, such as `[DONE]`, or with an error frame. */
export class EventStream<Event extends ReplyEvent> extends StreamedResponse {
  constructor(
    private readonly job: StartedJob<Event>,
    private readonly presenter: EventPresenter<Event>,
    private readonly options: ConstructorParameters<typeof SseWriter>[1],
  ) {
    super();
  }

  /** Rejects only while nothing was sent, so that the error becomes the HTTP response. */
  async send({ reply, request: { accessRecord: record } }: HttpExchange): Promise<void> {
    const { job, presenter } = this;
    const writer = new SseWriter(reply, { ...this.options, keepAlive: presenter.keepAlive });
    const framed = (chunks: string[]): string => SseWriter.frames(chunks, presenter);
    // The connection of a client that reads nothing was closed; it counts as disconnected.
    const require = (result: Awaited<ReturnType<SseWriter['write']>>): void => {
      if (result !== 'written') throw new ClientDisconnectedError();
    };
    let isOver = false;
    const startKeepAlive = (): void => {
      if (!isOver) writer.startKeepAlive();
    };
    if (job.accepted === undefined) startKeepAlive();
    else void job.accepted.then(startKeepAlive);
    try {
      const usage = await job.follow(async (event) => {
        const frames = framed(presenter.present(event));
        if (frames === '') return;
        require(await writer.write(frames));
        record?.noteContent();
      });
      require(await writer.writeLast(framed(await presenter.finish(usage)) + (presenter.ending ?? sseData('[DONE]'))));
      writer.end();
    } catch (error) {
      const { started } = writer;
      if (started && !(error instanceof ClientDisconnectedError)) {
        const failure = PlatformError.from(error);
        if (record) record.errorCode = failure.code;
        await writer.write(framed(failureChunks(failure, presenter)));
      }
      writer.end('failed');
      if (!started) throw error;
    } finally {
      isOver = true;
    }
  }
}

function failureChunks(failure: PlatformError, format: EventFormat): string[] {
  return format.fail?.(failure) ?? [JSON.stringify(errorFrame(failure))];
}

/** Ends a stream that has no events of its job yet with an error. */
export async function failStream(writer: SseWriter, error: unknown, format: EventFormat): Promise<void> {
  await writer.write(SseWriter.frames(failureChunks(PlatformError.from(error), format), format));
  writer.end('failed');
}
