import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { ArtifactStore } from '#storage';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import type { StartedJob } from '../pipeline/job-runner.js';
import { type AudioEvent, AudioRelay } from './audio-relay.js';
import { unlessStalled } from './unless-stalled.js';

export interface AudioResponse {
  contentType: string;
  /** True: sends each part as it is made. False: sends all of it at once, with its length. */
  streaming: boolean;
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
   * Sends the audio of a job without slowing its worker down to the client's pace. Resolves when the job has ended, to
   * true if it succeeded. Rejects with the job's error while nothing was sent.
   */
  async send(http: HttpExchange, job: StartedJob<AudioEvent>, response: AudioResponse): Promise<boolean> {
    const relay = new AudioRelay(this.artifacts);
    try {
      return await this.relay(http, job, response, relay);
    } catch (error) {
      await relay.clear();
      throw error;
    }
  }

  private async relay(
    { reply, record }: HttpExchange,
    job: StartedJob<AudioEvent>,
    { contentType, streaming, withLength }: AudioResponse,
    relay: AudioRelay,
  ): Promise<boolean> {
    const send = (audio: AsyncGenerator<Buffer>): void => {
      const pieces = unlessStalled(audio, this.config.stalledMs, () => reply.raw.destroy());
      // Discards what a disconnected client did not read.
      reply.raw.once('close', () => void relay.clear());
      void reply
        .status(200)
        .type(contentType)
        .send(Readable.from(pieces, { objectMode: false }));
    };
    // A job cannot restart once its audio is being sent.
    const ended = this.follow(job, relay, streaming ? undefined : () => void relay.clear());
    if (!streaming) {
      await ended;
      const { bytes, samples } = relay;
      void reply.header('content-length', bytes);
      send(relay.read((head) => withLength(head, { bytes, samples })));
      return true;
    }
    const isWell = ended.then(
      () => true,
      () => false,
    );
    // Nothing is sent before the first audio, so that an earlier failure still gets an HTTP status.
    await relay.started();
    send(relay.read());
    record?.noteContent();
    // From here on a failure closes the connection: the relay passes it to the reader.
    return await isWell;
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
