import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JobQuote, type ModelPrice } from '#billing';
import { type JobUsage, PlatformError } from '#common';
import {
  type AdmittedUse,
  balanceHeaders,
  ClientDisconnectedError,
  type InferenceServices,
  inferenceServices,
  modelHeaders,
  runRequest,
} from '#gateway';
import type { ModelManifest } from '#model-registry/manifest';
import { Billed, callerOf, disconnectSignal, LimitedByModel, validateWire } from '#platform/http';
import type { EmbeddingEvent } from '../contract/embedding.events.js';
import { embeddingJob, type EmbeddingJobPayload } from '../contract/embedding.job.js';
import { type EmbeddingPricing, quoteEmbedding } from '../contract/embedding.meter.js';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { EmbeddingApiDocument } from './embedding.document.js';
import { embeddingMembers, normalizeEmbedding } from './embedding.normalizer.js';
import { EmbeddingCollector, presentEmbeddings } from './embedding.presenter.js';

/** A request that may run, if it can be paid. */
interface AdmissibleEmbedding {
  manifest: ModelManifest;
  payload: EmbeddingJobPayload;
  price: ModelPrice;
  allowed: AdmittedUse;
  disconnected: AbortSignal;
}

@Controller()
export class EmbeddingController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('embeddings')
  @Billed()
  @LimitedByModel()
  @EmbeddingApiDocument()
  async embed(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const disconnected = disconnectSignal(reply);
    const wire = validateWire(EmbeddingRequest, request.body);
    const resolved = await this.services.resolve(wire.model, 'embedding', request);
    const { manifest } = resolved;
    void reply.headers(modelHeaders(resolved));
    const payload = normalizeEmbedding(wire, embeddingMembers(manifest));
    if (resolved.offline) {
      throw new PlatformError('MODEL_OFFLINE', `No worker holds the model ${manifest.id} at the moment.`, 'model');
    }
    const allowed = await this.services.limit({ request, reply }, { model: manifest });
    const price = await this.services.price(manifest.id, request.id);
    try {
      const { vectors, usage } = await this.run(request, reply, { manifest, payload, price, allowed, disconnected });
      const { promptTokens } = usage;
      const format = wire.encoding_format ?? 'float';
      const body = await presentEmbeddings({ modelId: manifest.id, vectors, format, promptTokens });
      void reply.status(200).type('application/json; charset=utf-8').send(body);
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof ClientDisconnectedError)) throw error;
      reply.hijack();
    }
  }

  private async run(
    request: FastifyRequest,
    reply: FastifyReply,
    { manifest, payload, price, allowed, disconnected }: AdmissibleEmbedding,
  ): Promise<{ vectors: Buffer[]; usage: JobUsage }> {
    const { maxInputTokens } = embeddingMembers(manifest);
    const tariff = { maxInputTokens, pricing: price.pricing as EmbeddingPricing | null };
    const quote = new JobQuote(quoteEmbedding(payload.texts, tariff), price);
    const job = {
      requestId: request.id,
      caller: callerOf(request),
      definition: embeddingJob,
      modelId: manifest.id,
      payload,
      quote,
      tokenReservation: allowed.tokenReservation,
    };
    let collector = new EmbeddingCollector(payload.texts.length);
    try {
      const usage = await runRequest<EmbeddingEvent>(this.services, job, {
        disconnected,
        onEvent: (event) => collector.add(event),
        onRepeat: () => (collector = new EmbeddingCollector(payload.texts.length)),
      });
      return { vectors: collector.all(), usage };
    } finally {
      void reply.headers(balanceHeaders(quote));
    }
  }
}
