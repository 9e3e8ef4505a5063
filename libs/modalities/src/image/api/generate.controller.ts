import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { ClientDisconnectedError, type InferenceServices, inferenceServices } from '#gateway';
import type { ResolvedModel } from '#model-registry';
import { Access, Billed, disconnectSignal, LimitedByModel, validateWire } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import type { ImageStyleList } from '../contract/image.response.js';
import { enhancementUnit, type ImageJobPricing } from '../contract/index.js';
import { assertOperation, promptLimitOf } from './edit-payloads.js';
import { enhancePrompt } from './enhance-prompt.js';
import { normalizeGenerate } from './image.normalizer.js';
import { GenerateApiDocument, SimpleGenerateApiDocument, StylesApiDocument } from './image.document.js';
import { admitImage, findImageModel, type ImageHttpExchange, runImage } from './run-image.js';
import { type MadeImages, presentAsOpenai, presentImages } from './image.presenter.js';
import { fieldsOfSize } from './openai-size.js';
import { stylePresets } from './style-presets.js';

const defaultTrait = 'default';

/** Pictures from words. */
@Controller()
export class GenerateImageController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Get('image/styles')
  @Access('public')
  @StylesApiDocument()
  styles(): ImageStyleList {
    return { object: 'list', data: stylePresets.map(({ name }) => name) };
  }

  @Post('image/generate')
  @Billed()
  @LimitedByModel()
  @GenerateApiDocument()
  async generate(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const startedAt = performance.now();
    const wire = validateWire(GenerateImageRequest, request.body);
    await this.answering(reply, async (disconnected) => {
      const exchange = { request, reply, disconnected };
      const resolved = await findImageModel(this.services, exchange, { name: wire.model, type: 'image' });
      const finished = await this.make(exchange, resolved, wire);
      void reply.status(200);
      if (wire.return_binary === true) {
        const [image] = finished.images;
        return void reply.type(image?.contentType ?? '').send(image?.bytes);
      }
      return void reply.send(presentImages(request.id, finished, performance.now() - startedAt));
    });
  }

  @Post('images/generations')
  @Billed()
  @LimitedByModel()
  @SimpleGenerateApiDocument()
  async generateSimply(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const wire = validateWire(SimpleGenerateImageRequest, request.body);
    await this.answering(reply, async (disconnected) => {
      const exchange = { request, reply, disconnected };
      const resolved = await this.knownOrDefault(exchange, wire.model ?? defaultTrait);
      const { images } = await this.make(exchange, resolved, {
        model: resolved.manifest.id,
        prompt: wire.prompt,
        ...fieldsOfSize(wire.size, resolved.manifest),
        format: wire.output_format ?? 'png',
        safe_mode: wire.moderation !== 'low',
      });
      const format = wire.response_format === 'url' ? 'url' : 'b64_json';
      void reply.status(200).send(presentAsOpenai(images, format, Math.floor(Date.now() / 1_000)));
    });
  }

  private async make(
    exchange: ImageHttpExchange,
    resolved: ResolvedModel,
    wire: GenerateImageRequest,
  ): Promise<MadeImages> {
    assertOperation(resolved.manifest, 'generate');
    const price = await this.services.price(resolved.manifest.id, exchange.request.id);
    const { manifest } = resolved;
    const pricing = price.pricing as ImageJobPricing | null;
    // What is wrong with a request is said before it counts against a limit, and before anything is rewritten.
    const payload = normalizeGenerate(wire, manifest, pricing);
    const admitted = await admitImage(this.services, exchange, resolved);
    const { prompt, units, announce } = await enhancePrompt(this.services, exchange, {
      prompt: wire.prompt,
      wanted: wire.enhance_prompt,
      kind: 'generate',
      safeMode: payload.safeMode,
      maxCharacters: promptLimitOf(manifest),
    });
    const used =
      units[enhancementUnit] === undefined
        ? payload
        : { ...normalizeGenerate({ ...wire, prompt }, manifest, pricing), extraUnits: units };
    const finished = await runImage(this.services, exchange, admitted, used);
    announce();
    return { ...finished, modelId: manifest.id, payload: used };
  }

  /** Clients of OpenAI name OpenAI's models: a name that means nothing here means the default (contract 5.2). */
  private async knownOrDefault(exchange: ImageHttpExchange, name: string): Promise<ResolvedModel> {
    try {
      return await findImageModel(this.services, exchange, { name, type: 'image' });
    } catch (error) {
      const isUnknown = error instanceof PlatformError && error.code === 'MODEL_NOT_FOUND';
      if (!isUnknown || name === defaultTrait) throw error;
      return await findImageModel(this.services, exchange, { name: defaultTrait, type: 'image' });
    }
  }

  private async answering(reply: FastifyReply, work: (disconnected: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await work(disconnectSignal(reply));
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof ClientDisconnectedError)) throw error;
      reply.hijack();
    }
  }
}
