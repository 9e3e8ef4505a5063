import { Controller, Get, Post } from '@nestjs/common';
import { invalidField, ModelRoute } from '#gateway';
import { Access, ApiRoute, Exchange, type HttpExchange, type StreamedResponse, RequestBody } from '#platform/http';
import { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { maxImageBytes, maxInputImages } from '../contract/image.request.js';
import { EditImagesRequest, VaryImageRequest } from '../contract/openai-image.request.js';
import type { GenerateImageResponse, ImageStyleList, SimpleGenerateImageResponse } from '../contract/image.response.js';
import { imageDocuments as documents } from './image.document.js';
import { ImageEditor } from './image-editor.js';
import { ImageGenerator } from './image-generator.js';
import { presentAsOpenai, presentImages, respondWithImage } from './image.presenter.js';
import type { FinishedImage } from './image.service.js';
import { openaiEditOf, variationOf } from './openai-edit.js';
import { stylePresets } from './style-presets.js';

/** Routes that make images from text, and those that OpenAI clients make them from images with. */
@Controller()
export class GenerateImageController {
  constructor(
    private readonly generator: ImageGenerator,
    private readonly editor: ImageEditor,
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
    @RequestBody(GenerateImageRequest) body: GenerateImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<GenerateImageResponse | Buffer> {
    const startedAt = performance.now();
    const generated = await this.generator.generate(http, body);
    if (body.return_binary !== true) return presentImages(http.request.id, generated, performance.now() - startedAt);
    return respondWithImage(http, generated.images[0], 'INFERENCE_FAILED', 'The model returned no image.');
  }

  @Post('images/generations')
  @ModelRoute(documents.generateSimply)
  async generateSimply(
    @RequestBody(SimpleGenerateImageRequest) body: SimpleGenerateImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<SimpleGenerateImageResponse | StreamedResponse> {
    if (isStreamed(body)) return await this.generator.streamSimply(http, body);
    const { images } = await this.generator.generateSimply(http, body);
    return asOpenai(images, body);
  }

  @Post('images/edits')
  @ModelRoute(documents.editAsOpenai, { multipart: { maxFileBytes: maxImageBytes, maxFiles: maxInputImages + 1 } })
  async editAsOpenai(
    @RequestBody(EditImagesRequest) body: EditImagesRequest,
    @Exchange() http: HttpExchange,
  ): Promise<SimpleGenerateImageResponse | StreamedResponse> {
    const edit = openaiEditOf(body);
    if (isStreamed(body)) return await this.editor.streamAll(http, edit);
    return asOpenai(await this.editor.editAll(http, edit), body);
  }

  @Post('images/variations')
  @ModelRoute(documents.vary, { multipart: { maxFileBytes: maxImageBytes, maxFiles: 1 } })
  async vary(
    @RequestBody(VaryImageRequest) body: VaryImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<SimpleGenerateImageResponse> {
    return asOpenai(await this.editor.editAll(http, variationOf(body)), body);
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
