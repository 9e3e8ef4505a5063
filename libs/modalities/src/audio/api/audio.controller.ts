import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JobQuote } from '#billing';
import { charactersOf, PlatformError } from '#common';
import type { MediaJobKey } from '#jobs';
import {
  balanceHeaders,
  completeMedia,
  findMedia,
  type InferenceServices,
  inferenceServices,
  keyOfMedia,
  type LimitedRequest,
  modelHeaders,
  queueMedia,
  sendMedia,
} from '#gateway';
import { needsFfmpeg } from '#media';
import { Access, Billed, callerOf, LimitedByModel, validateWire } from '#platform/http';
import {
  audioJob,
  type AudioPricing,
  type AudioSize,
  type AudioUnits,
  quoteAudio,
  unitsOfAudio,
} from '../contract/index.js';
import {
  CompleteAudioRequest,
  QueueAudioRequest,
  QuoteAudioRequest,
  RetrieveAudioRequest,
} from '../contract/audio.request.js';
import type { AudioCompleteResponse, AudioQueueResponse, AudioQuoteResponse } from '../contract/audio.response.js';
import {
  CompleteAudioApiDocument,
  QueueAudioApiDocument,
  QuoteAudioApiDocument,
  RetrieveAudioApiDocument,
} from './audio.document.js';
import { audioTypes, longSpeechModel, resolveAudioModel } from './audio.model.js';
import { normalizeLongSpeech, refusal } from './audio.normalizer.js';
import { presentQueued, presentQuote } from './audio.presenter.js';
import { musicModel } from './music.model.js';
import { normalizeMusic, secondsOfMusic } from './music.normalizer.js';

@Controller('audio')
export class AudioController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('quote')
  @HttpCode(200)
  @Access('public')
  @QuoteAudioApiDocument()
  async quote(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AudioQuoteResponse> {
    const wire = validateWire(QuoteAudioRequest, request.body);
    const resolved = await resolveAudioModel(this.services, wire.model, request);
    void reply.headers(modelHeaders(resolved));
    const { manifest } = resolved;
    const { duration_seconds: given, character_count: characters } = wire;
    // Music has a length even where none is named; a text has the one that it takes to say it.
    const seconds = manifest.type === 'music' ? secondsOfMusic(given, musicModel(manifest)) : given;
    const pricing = (await this.services.price(manifest.id, request.id)).pricing as AudioPricing | null;
    const size = { characters: characters ?? null, seconds: isGiven(seconds) ? Number(seconds) : null };
    return presentQuote(quoteAudio(unitsOrRefusal(pricing, size), pricing));
  }

  @Post('queue')
  @HttpCode(200)
  @Billed({ responseOfJob: presentQueued })
  @LimitedByModel()
  @QueueAudioApiDocument()
  async queue(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AudioQueueResponse> {
    const { services } = this;
    const wire = validateWire(QueueAudioRequest, request.body);
    const resolved = await resolveAudioModel(services, wire.model, request);
    void reply.headers(modelHeaders(resolved));
    const { manifest, offline } = resolved;
    const options =
      manifest.type === 'music'
        ? normalizeMusic(wire, musicModel(manifest))
        : normalizeLongSpeech(wire, longSpeechModel(manifest));
    if (offline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${manifest.id} at the moment.`, 'model');
    }
    if (needsFfmpeg(options.format)) services.media.require();
    const { tokenReservation } = await services.limit({ request, reply }, { model: manifest });
    const price = await services.price(manifest.id, request.id);
    const pricing = price.pricing as AudioPricing | null;
    const size = { characters: charactersOf(options.text), seconds: options.music?.seconds ?? null };
    const units = unitsOrRefusal(pricing, size);
    const quote = new JobQuote(quoteAudio(units, pricing), price);
    try {
      const queueId = await queueMedia(services, {
        requestId: request.id,
        caller: callerOf(request),
        definition: audioJob,
        deadlineMs: services.settings.mediaDeadlineMs,
        modelId: manifest.id,
        payload: { ...options, units },
        quote,
        tokenReservation,
        delivery: 'inline',
        inputArtifacts: [],
      });
      return presentQueued({ modelId: manifest.id, queueId });
    } finally {
      void reply.headers(balanceHeaders(quote));
    }
  }

  @Post('retrieve')
  @HttpCode(200)
  @LimitedByModel()
  @RetrieveAudioApiDocument()
  async retrieve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const wire = validateWire(RetrieveAudioRequest, request.body);
    const key = await this.keyOf({ request, reply }, wire);
    const { job, timing } = await findMedia(this.services, key);
    void reply.header('x-service-progress-percent', job.progressPercent);
    if (timing.status === 'PROCESSING') await reply.status(200).send(timing);
    else await sendMedia(this.services, reply, { job, deleteAfter: wire.delete_media_on_completion ?? false });
  }

  @Post('complete')
  @HttpCode(200)
  @LimitedByModel()
  @CompleteAudioApiDocument()
  async complete(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AudioCompleteResponse> {
    const key = await this.keyOf({ request, reply }, validateWire(CompleteAudioRequest, request.body));
    return { success: await completeMedia(this.services, key) };
  }

  private keyOf(exchange: LimitedRequest, { model, queue_id: queueId }: CompleteAudioRequest): Promise<MediaJobKey> {
    return keyOfMedia(this.services, exchange, { model, queueId, types: audioTypes });
  }
}

function unitsOrRefusal(pricing: AudioPricing | null, size: AudioSize): AudioUnits {
  const units = unitsOfAudio(pricing, size);
  if (typeof units !== 'string') return units;
  const given = units === 'duration_seconds' && size.seconds !== null;
  const problem = given ? 'is in none of the durations of this model' : 'is required: the price depends on it';
  throw refusal(`${units} ${problem}`, units, given ? 'custom' : 'required');
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}
