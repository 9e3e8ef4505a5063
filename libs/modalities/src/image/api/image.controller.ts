import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { ClientDisconnectedError, type InferenceServices, inferenceServices } from '#gateway';
import { Billed, FormBody, disconnectSignal, LimitedByModel, Multipart, readBody } from '#platform/http';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  maxInputImages,
  maxImageBytes,
  MultiEditImageRequest,
  UpscaleImageRequest,
  type WireImage,
} from '../contract/image.request.js';
import { maxImagePixels } from '../contract/index.js';
import { assertOperation, plainPayload, upscaleFactor } from './edit-payloads.js';
import { orderOfEdit, orderOfMultiEdit } from './edit-plan.js';
import { editImages } from './edit.service.js';
import {
  BackgroundRemoveApiDocument,
  EditApiDocument,
  MultiEditApiDocument,
  UpscaleApiDocument,
} from './image.document.js';
import { ImageInputReader } from './image-input-reader.js';
import { admitImage, findImageModel, type FinishedImage, type ImageHttpExchange, runImage } from './run-image.js';

const oneImage = { maxFileBytes: maxImageBytes, maxFiles: 1 };
const minUpscalePixels = 65_536;
const defaultTrait = 'default';
/** Trait of the model that cuts pictures out. */
const backgroundTrait = 'background_removal';

/** Routes that take a picture and give one back. */
@Controller('image')
export class EditImageController {
  constructor(@Inject(inferenceServices) private readonly services: InferenceServices) {}

  @Post('upscale')
  @Billed()
  @LimitedByModel()
  @Multipart(oneImage)
  @UpscaleApiDocument()
  async upscale(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const wire = readBody(UpscaleImageRequest, request);
    await this.answer(request, reply, async (exchange, inputReader) => {
      const resolved = await findImageModel(this.services, exchange, { name: defaultTrait, type: 'upscale' });
      const limits = { param: 'image', urls: false, minPixels: minUpscalePixels };
      const { artifactId, header } = await inputReader.take(wire.image, limits);
      const scale = upscaleFactor(wire.scale, header);
      const admitted = await admitImage(this.services, exchange, resolved);
      const payload = { ...plainPayload('upscale', [artifactId]), scale, priceOfImage: `upscale.${scale}x` };
      return (await runImage(this.services, exchange, admitted, payload)).images[0];
    });
  }

  @Post('background-remove')
  @Billed()
  @LimitedByModel()
  @Multipart(oneImage)
  @BackgroundRemoveApiDocument()
  async removeBackground(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    refuseModel(request.body);
    const wire = readBody(BackgroundRemoveImageRequest, request);
    const { image, param, urls } = onlyImage(wire);
    await this.answer(request, reply, async (exchange, inputReader) => {
      const resolved = await findImageModel(this.services, exchange, { name: backgroundTrait, type: 'inpaint' });
      assertOperation(resolved.manifest, 'remove-background');
      const { artifactId } = await inputReader.take(image, { param, urls, maxPixels: maxImagePixels });
      const admitted = await admitImage(this.services, exchange, resolved);
      const payload = plainPayload('remove-background', [artifactId]);
      return (await runImage(this.services, exchange, admitted, payload)).images[0];
    });
  }

  @Post('edit')
  @Billed()
  @LimitedByModel()
  @Multipart(oneImage)
  @EditApiDocument()
  async edit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const order = orderOfEdit(readBody(EditImageRequest, request));
    await this.answer(request, reply, async (exchange, inputReader) => {
      return await editImages(this.services, exchange, inputReader, order);
    });
  }

  @Post('multi-edit')
  @Billed()
  @LimitedByModel()
  @Multipart({ maxFileBytes: maxImageBytes, maxFiles: maxInputImages })
  @MultiEditApiDocument()
  async multiEdit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const order = orderOfMultiEdit(readBody(MultiEditImageRequest, request), request.body instanceof FormBody);
    await this.answer(request, reply, async (exchange, inputReader) => {
      return await editImages(this.services, exchange, inputReader, order);
    });
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (exchange: ImageHttpExchange, inputReader: ImageInputReader) => Promise<FinishedImage | undefined>,
  ): Promise<void> {
    const disconnected = disconnectSignal(reply);
    const inputReader = new ImageInputReader(this.services, disconnected);
    try {
      const image = await work({ request, reply, disconnected }, inputReader);
      if (image === undefined) throw new PlatformError('INFERENCE_FAILED', 'The model brought no picture.');
      void reply.status(200).type(image.contentType).send(image.bytes);
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof ClientDisconnectedError) && !disconnected.aborted) throw error;
      reply.hijack();
    } finally {
      await inputReader.release();
    }
  }
}

/** The route has one model, which callers do not choose (contract 5.6). */
function refuseModel(body: unknown): void {
  const names = body instanceof FormBody ? [...body.entries()].map(([name]) => name) : Object.keys(body ?? {});
  if (!names.includes('model')) return;
  throw new PlatformError('INVALID_REQUEST', 'model is not taken here: the route chooses it.', 'model');
}

function onlyImage({ image, image_url: url }: BackgroundRemoveImageRequest): {
  image: WireImage;
  param: string;
  urls: boolean;
} {
  if (image !== undefined && image !== null && (url === undefined || url === null)) {
    return { image: image, param: 'image', urls: false };
  }
  if (url !== undefined && url !== null && (image === undefined || image === null)) {
    return { image: url, param: 'image_url', urls: true };
  }
  throw new PlatformError('INVALID_REQUEST', 'Exactly one of image and image_url must be given.', 'image');
}
