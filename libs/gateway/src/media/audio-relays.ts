import { Readable } from 'node:stream';
import { Injectable, StreamableFile } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import type { HttpExchange } from '#platform/http';
import { ArtifactStore } from '#storage';
import type { StartedJob } from '../pipeline/job-runner.js';
import { type AudioEvent, AudioRelay } from './audio-relay.js';
import { unlessStalled } from './unless-stalled.js';

export interface AudioResponse {
  contentType: string;
  /** True: sends each part as it is made. False: sends all of it at once, with its length. */
  streaming: boolean;
  /** Called once the job has succeeded; the response does not wait for it. Never rejects. */
  onSuccess?(): Promise<void>;
  /** Writes the total length into the header of formats that have it there. */
  withLength(head: Buffer, length: { bytes: number; samples: number }): Buffer;
}

/** Relays the audio of jobs to their clients. */
@Injectable()
export class AudioRelays {
  constructor(
    private readonly artifacts: ArtifactStore,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Returns the audio of a job as a response that does not slow its worker down to the client's pace. Resolves with the
   * first audio that can be sent. Rejects with the job's error while there is none.
   */
  async open(http: HttpExchange, job: StartedJob<AudioEvent>, response: AudioResponse): Promise<StreamableFile> {
    const relay = new AudioRelay(this.artifacts);
    try {
      return await this.relay(http, job, response, relay);
    } catch (error) {
      await relay.clear();
      throw error;
    }
  }

  private async relay(
    { reply, request }: HttpExchange,
    job: StartedJob<AudioEvent>,
    { contentType: type, streaming, onSuccess, withLength }: AudioResponse,
    relay: AudioRelay,
  ): Promise<StreamableFile> {
    const readable = (audio: AsyncGenerator<Buffer>): Readable => {
      const pieces = unlessStalled(audio, this.config.stalledMs, () => reply.raw.destroy());
      // Discards what a disconnected client did not read.
      reply.raw.once('close', () => void relay.clear());
      return Readable.from(pieces, { objectMode: false });
    };
    // A job cannot restart once its audio is being sent.
    const ended = this.follow(job, relay, streaming ? undefined : () => void relay.clear());
    if (!streaming) {
      await ended;
      void onSuccess?.();
      const { bytes: length, samples } = relay;
      const audio = relay.read((head) => withLength(head, { bytes: length, samples }));
      return new StreamableFile(readable(audio), { type, length });
    }
    // Once the response has begun, a failure closes the connection: the relay passes it to the reader.
    void ended.then(
      () => onSuccess?.(),
      () => undefined,
    );
    // Nothing is sent before the first audio, so that an earlier failure still gets an HTTP status.
    await relay.started();
    request.accessRecord?.noteContent();
    return new StreamableFile(readable(relay.read()), { type });
  }

  private async follow(job: StartedJob<AudioEvent>, relay: AudioRelay, onRepeat?: () => void): Promise<void> {
    try {
      await job.follow((event) => relay.take(event), onRepeat);
      relay.end();
    } catch (error) {
      relay.fail(error);
      throw error;
    }
  }
}
