import { Readable } from 'node:stream';
import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JobQuote } from '#billing';
import { PlatformError } from '#common';
import {
  type AdmittedUse,
  balanceHeaders,
  ClientDisconnectedError,
  abortSources,
  type InferenceServices,
  inferenceServices,
  type JobStream,
  modelHeaders,
  openJobStream,
} from '#gateway';
import { audioContentTypes, withAudioLength } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import { Billed, callerOf, disconnectSignal, LimitedByModel, validateWire } from '#platform/http';
import type { SpeechEvent } from '../contract/speech.events.js';
import { speechJob, type SpeechJobPayload } from '../contract/speech.job.js';
import { quoteSpeech, type SpeechPricing } from '../contract/speech.meter.js';
import { SpeechRequest } from '../contract/speech.request.js';
import { AudioRelay } from './audio-relay.js';
import { SpeechApiDocument } from './speech.document.js';
import { speechModel, type SpeechModel } from './speech.model.js';
import { normalizeSpeech, unknownVoice } from './speech.normalizer.js';
import { unlessStalled } from './unless-stalled.js';
import { VoicesService } from './voices.service.js';

/** Trait of the model that is meant where a request names none. */
const defaultModel = 'default';

/** A request that may run, if it can be paid. */
interface AdmissibleSpeech {
  manifest: ModelManifest;
  payload: SpeechJobPayload;
  streaming: boolean;
  allowed: AdmittedUse;
}

/** One request on its way. */
interface OpenedSpeech extends AdmissibleSpeech {
  exchange: JobStream<SpeechEvent>;
  relay: AudioRelay;
  disconnected: AbortSignal;
}

@Controller('audio')
export class SpeechController {
  constructor(
    @Inject(inferenceServices) private readonly services: InferenceServices,
    @Inject(VoicesService) private readonly voices: VoicesService,
  ) {}

  @Post('speech')
  @Billed()
  @LimitedByModel()
  @SpeechApiDocument()
  async speak(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const disconnected = disconnectSignal(reply);
    const wire = validateWire(SpeechRequest, request.body);
    const name = wire.model ?? '';
    const resolved = await this.services.resolve(name === '' ? defaultModel : name, 'tts', request);
    const { manifest } = resolved;
    void reply.headers(modelHeaders(resolved));
    const model = speechModel(manifest);
    const { payload, handle, streaming } = normalizeSpeech(wire, model);
    if (resolved.offline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${manifest.id} at the moment.`, 'model');
    }
    const allowed = await this.services.limit({ request, reply }, { model: manifest });
    if (handle !== null) payload.sampleId = await this.sampleOf(request, handle, model);
    const admissible = { manifest, payload, streaming, allowed };
    const exchange = await this.admit(request, reply, admissible);
    const relay = new AudioRelay(this.services.artifacts);
    try {
      const isWell = await this.answer({ ...admissible, exchange, relay, disconnected }, reply);
      if (isWell && handle !== null) await this.voices.used(callerOf(request).accountId, handle, model);
    } catch (error) {
      await relay.clear();
      // Nobody is left to read an answer.
      if (!(error instanceof ClientDisconnectedError)) throw error;
      reply.hijack();
    }
  }

  private async sampleOf(request: FastifyRequest, handle: string, model: SpeechModel): Promise<string> {
    const sampleId = await this.voices.sampleOf(callerOf(request).accountId, handle, model.id);
    if (sampleId === null) throw unknownVoice(model);
    return sampleId;
  }

  private async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    { manifest, payload, streaming, allowed }: AdmissibleSpeech,
  ): Promise<JobStream<SpeechEvent>> {
    const { services } = this;
    const price = await services.price(manifest.id, request.id);
    const quote = new JobQuote(quoteSpeech(payload.text, price.pricing as SpeechPricing | null), price);
    const job = {
      requestId: request.id,
      caller: callerOf(request),
      definition: speechJob,
      modelId: manifest.id,
      payload,
      quote,
      deadlineMs: speechJob.policy.deadlineMs,
      replyTo: services.replyTo(),
      stream: streaming,
      tokenReservation: allowed.tokenReservation,
    };
    try {
      return await openJobStream<SpeechEvent>(services, request.id, () => services.admit(job));
    } finally {
      void reply.headers(balanceHeaders(quote));
    }
  }

  /** Resolves when the job has ended and the sound is on its way; true when it ended well. */
  private async answer(opened: OpenedSpeech, reply: FastifyReply): Promise<boolean> {
    const { relay, streaming } = opened;
    const running = this.run(opened);
    if (!streaming) {
      await running;
      this.sendWhole(opened, reply);
      return true;
    }
    const ended = running.then(
      () => true,
      () => false,
    );
    // Nothing is sent before the first sound, so that what fails first still gets an HTTP status.
    await relay.started();
    this.send(relay.read(), opened, reply);
    // A failure from now on breaks the body off: the relay passes it to who reads.
    return await ended;
  }

  private sendWhole(opened: OpenedSpeech, reply: FastifyReply): void {
    const { relay, payload } = opened;
    const { bytes, samples } = relay;
    void reply.header('content-length', bytes);
    this.send(
      relay.read((head) => withAudioLength(head, { format: payload.format, bytes, samples })),
      opened,
      reply,
    );
  }

  /** From admission to the last event, at the worker's pace: a slow reader keeps no model waiting. */
  private async run({ exchange, relay, manifest, disconnected, streaming }: OpenedSpeech): Promise<void> {
    const { deadlineMs } = speechJob.policy;
    const ends = abortSources(this.services, { modelId: manifest.id, disconnected, deadlineMs });
    // Sound that is on its way to the caller cannot begin anew.
    const onRepeat = streaming ? undefined : () => void relay.clear();
    try {
      await exchange.run(ends, (event) => relay.take(event), onRepeat);
      relay.end();
    } catch (error) {
      relay.fail(error);
      throw error;
    }
  }

  private send(audio: AsyncGenerator<Buffer>, { relay, payload }: OpenedSpeech, reply: FastifyReply): void {
    const { stalledMs } = this.services.settings;
    const body = Readable.from(
      unlessStalled(audio, stalledMs, () => reply.raw.destroy()),
      { objectMode: false },
    );
    // What a reader who left did not take.
    reply.raw.once('close', () => void relay.clear());
    void reply.status(200).type(audioContentTypes[payload.format]).send(body);
  }
}
