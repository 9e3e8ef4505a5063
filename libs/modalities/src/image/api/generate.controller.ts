import { Controller, Get, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ModelRoute, RequestPipeline } from '#gateway';
import { Access, WireBody } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import type { ImageStyleList } from '../contract/image.response.js';
import { generateDocument, simpleGenerateDocument, StylesApiDocument } from './image.document.js';
import { ImageGenerator } from './image-generator.js';
import { presentAsOpenai, presentImages, sendImage } from './image.presenter.js';
import { stylePresets } from './style-presets.js';

/** Pictures from words. */
@Controller()
export class GenerateImageController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ImageGenerator) private readonly generator: ImageGenerator,
  ) {}

  @Get('image/styles')
  @Access('public')
  @StylesApiDocument()
  styles(): ImageStyleList {
    return { object: 'list', data: stylePresets.map(({ name }) => name) };
  }

  @Post('image/generate')
  @ModelRoute(generateDocument)
  async generate(
    @WireBody(GenerateImageRequest) wire: GenerateImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const startedAt = performance.now();
    await this.pipeline.handle(reply, async (http) => {
      const made = await this.generator.generate(http, wire);
      if (wire.return_binary !== true) return presentImages(reply.request.id, made, performance.now() - startedAt);
      return sendImage(reply, made.images[0], 'INFERENCE_FAILED', 'The model brought no picture.');
    });
  }

  @Post('images/generations')
  @ModelRoute(simpleGenerateDocument)
  async generateSimply(
    @WireBody(SimpleGenerateImageRequest) wire: SimpleGenerateImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { images } = await this.generator.generateSimply(http, wire);
      const format = wire.response_format === 'url' ? 'url' : 'b64_json';
      return presentAsOpenai(images, format, Math.floor(Date.now() / 1_000));
    });
  }
}
