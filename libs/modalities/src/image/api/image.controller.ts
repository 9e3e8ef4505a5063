import { Controller, Post } from '@nestjs/common';
import { PlatformError } from '#common';
import { ModelRoute } from '#gateway';
import { Exchange, FormBody, type HttpExchange, RequestBody } from '#platform/http';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  maxInputImages,
  maxImageBytes,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '../contract/image.request.js';
import { imageEditOf, multiImageEditOf } from './edit-plan.js';
import { imageDocuments as documents } from './image.document.js';
import { ImageEditor } from './image-editor.js';

const multipart = { maxFileBytes: maxImageBytes, maxFiles: 1 };

/** Routes that take an image and return one. */
@Controller('image')
export class EditImageController {
  constructor(private readonly editor: ImageEditor) {}

  @Post('upscale')
  @ModelRoute(documents.upscale, { multipart })
  async upscale(
    @RequestBody(UpscaleImageRequest) body: UpscaleImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<Buffer> {
    return await this.editor.upscale(http, body);
  }

  @Post('background-remove')
  @ModelRoute(documents.removeBackground, { multipart })
  async removeBackground(
    @RequestBody(BackgroundRemoveImageRequest) body: BackgroundRemoveImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<Buffer> {
    refuseModel(http.request.body);
    return await this.editor.removeBackground(http, body);
  }

  @Post('edit')
  @ModelRoute(documents.edit, { multipart })
  async edit(@RequestBody(EditImageRequest) body: EditImageRequest, @Exchange() http: HttpExchange): Promise<Buffer> {
    return await this.editor.edit(http, imageEditOf(body));
  }

  @Post('multi-edit')
  @ModelRoute(documents.multiEdit, { multipart: { maxFileBytes: maxImageBytes, maxFiles: maxInputImages } })
  async multiEdit(
    @RequestBody(MultiEditImageRequest) body: MultiEditImageRequest,
    @Exchange() http: HttpExchange,
  ): Promise<Buffer> {
    return await this.editor.edit(http, multiImageEditOf(body, http.request.body instanceof FormBody));
  }
}

/** The route uses one model, which clients cannot choose. */
function refuseModel(body: unknown): void {
  const names = body instanceof FormBody ? [...body.entries()].map(([name]) => name) : Object.keys(body ?? {});
  if (!names.includes('model')) return;
  throw new PlatformError('INVALID_REQUEST', 'model is not taken here: the route chooses it.', 'model');
}
