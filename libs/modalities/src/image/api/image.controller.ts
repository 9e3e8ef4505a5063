import { Controller, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PlatformError } from '#common';
import { ModelRoute, RequestPipeline } from '#gateway';
import { FormBody, WireBody } from '#platform/http';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  maxInputImages,
  maxImageBytes,
  MultiEditImageRequest,
  UpscaleImageRequest,
} from '../contract/image.request.js';
import { orderOfEdit, orderOfMultiEdit } from './edit-plan.js';
import { imageDocuments as documents } from './image.document.js';
import { ImageEditor } from './image-editor.js';

const multipart = { maxFileBytes: maxImageBytes, maxFiles: 1 };

/** Routes that take an image and return one. */
@Controller('image')
export class EditImageController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ImageEditor) private readonly editor: ImageEditor,
  ) {}

  @Post('upscale')
  @ModelRoute(documents.upscale, { multipart })
  async upscale(@WireBody(UpscaleImageRequest) wire: UpscaleImageRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.editor.upscale(http, wire));
  }

  @Post('background-remove')
  @ModelRoute(documents.removeBackground, { multipart })
  async removeBackground(
    @WireBody(BackgroundRemoveImageRequest) wire: BackgroundRemoveImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    refuseModel(reply.request.body);
    await this.pipeline.handle(reply, (http) => this.editor.removeBackground(http, wire));
  }

  @Post('edit')
  @ModelRoute(documents.edit, { multipart })
  async edit(@WireBody(EditImageRequest) wire: EditImageRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, (http) => this.editor.edit(http, orderOfEdit(wire)));
  }

  @Post('multi-edit')
  @ModelRoute(documents.multiEdit, { multipart: { maxFileBytes: maxImageBytes, maxFiles: maxInputImages } })
  async multiEdit(
    @WireBody(MultiEditImageRequest) wire: MultiEditImageRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const order = orderOfMultiEdit(wire, reply.request.body instanceof FormBody);
    await this.pipeline.handle(reply, (http) => this.editor.edit(http, order));
  }
}

/** The route uses one model, which clients cannot choose. */
function refuseModel(body: unknown): void {
  const names = body instanceof FormBody ? [...body.entries()].map(([name]) => name) : Object.keys(body ?? {});
  if (!names.includes('model')) return;
  throw new PlatformError('INVALID_REQUEST', 'model is not taken here: the route chooses it.', 'model');
}
