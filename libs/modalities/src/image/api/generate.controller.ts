import { Controller, Get, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { invalidField, ModelRoute, RequestPipeline } from '#gateway';
import { Access, ApiRoute, WireBody } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { maxImageBytes, maxInputImages } from '../contract/image.request.js';
import { EditImagesRequest, VaryImageRequest } from '../contract/openai-image.request.js';
import type { ImageStyleList } from '../contract/image.response.js';
import { imageDocuments as documents } from './image.document.js';
import { ImageEditor } from './image-editor.js';
import { ImageGenerator } from './image-generator.js';
import { presentAsOpenai, presentImages, sendImage } from './image.presenter.js';
import type { FinishedImage } from './image.service.js';
import { orderOfOpenaiEdit, orderOfVariation } from './openai-edit.js';
import { stylePresets } from './style-presets.js';

/** Routes that make images from text, and those that OpenAI clients make them from images with. */
@Controller()
export class GenerateImageController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ImageGenerator) private readonly generator: ImageGenerator,
    @Inject(ImageEditor) private readonly editor: ImageEditor,
  ) {}

  @Get('image/styles')
  @Access('public')
  @ApiRoute(documents.styles)
  styles(): ImageStyleList {
    return { object: 'list', data: stylePresets.map(({ name }) => name) };
  }

  @Post('image/generate')
  @ModelRoute(documents.generate)
  async generate(
    @WireBody(GenerateImageRequest) wire: GenerateImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const startedAt = performance.now();
    await this.pipeline.handle(reply, async (http) => {
      const made = await this.generator.generate(http, wire);
      if (wire.return_binary !== true) return presentImages(reply.request.id, made, performance.now() - startedAt);
      return sendImage(reply, made.images[0], 'INFERENCE_FAILED', 'The model returned no image.');
    });
  }

  @Post('images/generations')
  @ModelRoute(documents.generateSimply)
  async generateSimply(
    @WireBody(SimpleGenerateImageRequest) wire: SimpleGenerateImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      if (isStreamed(wire)) return await this.generator.streamSimply(http, wire);
      const { images } = await this.generator.generateSimply(http, wire);
      return asOpenai(images, wire);
    });
  }

  @Post('images/edits')
  @ModelRoute(documents.editAsOpenai, { multipart: { maxFileBytes: maxImageBytes, maxFiles: maxInputImages + 1 } })
  async editAsOpenai(@WireBody(EditImagesRequest) wire: EditImagesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const order = orderOfOpenaiEdit(wire);
      if (isStreamed(wire)) return await this.editor.streamAll(http, order);
      return asOpenai(await this.editor.editAll(http, order), wire);
    });
  }

  @Post('images/variations')
  @ModelRoute(documents.vary, { multipart: { maxFileBytes: maxImageBytes, maxFiles: 1 } })
  async vary(@WireBody(VaryImageRequest) wire: VaryImageRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) =>
      asOpenai(await this.editor.editAll(http, orderOfVariation(wire)), wire),
    );
  }
}

/** Throws `INVALID_REQUEST` for a stream of URLs. */
function isStreamed({
  stream,
  response_format: format,
}: Pick<EditImagesRequest, 'stream' | 'response_format'>): boolean {
  if (stream !== true) return false;
  if (format !== 'url') return true;
  throw invalidField('response_format must be b64_json where stream is true.', 'response_format');
}

function asOpenai(images: readonly FinishedImage[], { response_format: format }: { response_format?: string }) {
  return presentAsOpenai(images, format === 'url' ? 'url' : 'b64_json', Math.floor(Date.now() / 1_000));
}
