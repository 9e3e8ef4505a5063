import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { ApiConfig } from '#platform/config';
import { ArtifactStore } from '#storage';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import type { StartedJob } from '../pipeline/job-runner.js';
import { type AudioEvent, AudioRelay } from './audio-relay.js';
import { unlessStalled } from './unless-stalled.js';

export interface AudioResponse {
  contentType: string;
  /** True: each part is sent as it is made. False: all of it at once, with its length. */
  streaming: boolean;
  /** Writes the length of the whole into its first bytes, where the format has it there. */
  withLength(head: Buffer, length: { bytes: number; samples: number }): Buffer;
}

/** Relays the audio of jobs to their clients. */
@Injectable()
export class AudioRelays {
  constructor(
    @Inject(ArtifactStore) private readonly artifacts: ArtifactStore,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'stalledMs'>,
  ) {}

  /**
   * Sends the audio of a job, which runs at the worker's pace: a slow client keeps no model waiting. Resolves when the job
   * has ended; true when it ended well. Rejects as the job does while nothing was sent.
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
    { reply }: HttpExchange,
    job: StartedJob<AudioEvent>,
    { contentType, streaming, withLength }: AudioResponse,
    relay: AudioRelay,
  ): Promise<boolean> {
    const send = (audio: AsyncGenerator<Buffer>): void => {
      const pieces = unlessStalled(audio, this.config.stalledMs, () => reply.raw.destroy());
      // What a client that disconnects did not read.
      reply.raw.once('close', () => void relay.clear());
      void reply
        .status(200)
        .type(contentType)
        .send(Readable.from(pieces, { objectMode: false }));
    };
    // Audio that is on its way to the client cannot start again.
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
    // Nothing is sent before the first audio, so that a failure before it still gets an HTTP status.
    await relay.started();
    send(relay.read());
    // From now on a failure cuts the body off: the relay passes it to the reader.
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
