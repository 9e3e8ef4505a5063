import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { CallerGone, type InferenceServices, inferenceServices } from '#jobs/api';
import { Billed, FormBody, goneSignal, LimitedByModel, Multipart, readBody } from '#platform/http';
import {
  BackgroundRemoveImageRequest,
  EditImageRequest,
  mostInputPictures,
  mostPictureBytes,
  MultiEditImageRequest,
  UpscaleImageRequest,
  type WirePicture,
} from '../contract/image.request.js';
import { mostPicturePixels } from '../contract/index.js';
import { assertOperation, plainPayload, upscaleFactor } from './edit-payloads.js';
import { orderOfEdit, orderOfMultiEdit } from './edit-plan.js';
import { editPictures } from './edit.service.js';
import {
  BackgroundRemoveApiDocument,
  EditApiDocument,
  MultiEditApiDocument,
  UpscaleApiDocument,
} from './image.document.js';
import { PictureIntake } from './picture-intake.js';
import { admitImage, findImageModel, type FinishedPicture, type ImageExchange, runImage } from './run-image.js';

const onePicture = { maxFileBytes: mostPictureBytes, maxFiles: 1 };
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
  @Multipart(onePicture)
  @UpscaleApiDocument()
  async upscale(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const wire = readBody(UpscaleImageRequest, request);
    await this.answer(request, reply, async (exchange, intake) => {
      const resolved = await findImageModel(this.services, exchange, { name: defaultTrait, type: 'upscale' });
      const limits = { param: 'image', urls: false, minPixels: minUpscalePixels };
      const { artifactId, header } = await intake.take(wire.image, limits);
      const scale = upscaleFactor(wire.scale, header);
      const admitted = await admitImage(this.services, exchange, resolved);
      const payload = { ...plainPayload('upscale', [artifactId]), scale, priceOfPicture: `upscale.${scale}x` };
      return (await runImage(this.services, exchange, admitted, payload)).pictures[0];
    });
  }

  @Post('background-remove')
  @Billed()
  @LimitedByModel()
  @Multipart(onePicture)
  @BackgroundRemoveApiDocument()
  async removeBackground(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    refuseModel(request.body);
    const wire = readBody(BackgroundRemoveImageRequest, request);
    const { picture, param, urls } = onlyPicture(wire);
    await this.answer(request, reply, async (exchange, intake) => {
      const resolved = await findImageModel(this.services, exchange, { name: backgroundTrait, type: 'inpaint' });
      assertOperation(resolved.manifest, 'remove-background');
      const { artifactId } = await intake.take(picture, { param, urls, maxPixels: mostPicturePixels });
      const admitted = await admitImage(this.services, exchange, resolved);
      const payload = plainPayload('remove-background', [artifactId]);
      return (await runImage(this.services, exchange, admitted, payload)).pictures[0];
    });
  }

  @Post('edit')
  @Billed()
  @LimitedByModel()
  @Multipart(onePicture)
  @EditApiDocument()
  async edit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const order = orderOfEdit(readBody(EditImageRequest, request));
    await this.answer(request, reply, async (exchange, intake) => {
      return await editPictures(this.services, exchange, intake, order);
    });
  }

  @Post('multi-edit')
  @Billed()
  @LimitedByModel()
  @Multipart({ maxFileBytes: mostPictureBytes, maxFiles: mostInputPictures })
  @MultiEditApiDocument()
  async multiEdit(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const order = orderOfMultiEdit(readBody(MultiEditImageRequest, request), request.body instanceof FormBody);
    await this.answer(request, reply, async (exchange, intake) => {
      return await editPictures(this.services, exchange, intake, order);
    });
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (exchange: ImageExchange, intake: PictureIntake) => Promise<FinishedPicture | undefined>,
  ): Promise<void> {
    const gone = goneSignal(reply);
    const intake = new PictureIntake(this.services, gone);
    try {
      const picture = await work({ request, reply, gone }, intake);
      if (picture === undefined) throw new PlatformError('INFERENCE_FAILED', 'The model brought no picture.');
      void reply.status(200).type(picture.contentType).send(picture.bytes);
    } catch (error) {
      // Nobody is left to read an answer.
      if (!(error instanceof CallerGone) && !gone.aborted) throw error;
      reply.hijack();
    } finally {
      await intake.release();
    }
  }
}

/** The route has one model, which callers do not choose (contract 5.6). */
function refuseModel(body: unknown): void {
  const names = body instanceof FormBody ? [...body.entries()].map(([name]) => name) : Object.keys(body ?? {});
  if (!names.includes('model')) return;
  throw new PlatformError('INVALID_REQUEST', 'model is not taken here: the route chooses it.', 'model');
}

function onlyPicture({ image, image_url: url }: BackgroundRemoveImageRequest): {
  picture: WirePicture;
  param: string;
  urls: boolean;
} {
  if (image !== undefined && image !== null && (url === undefined || url === null)) {
    return { picture: image, param: 'image', urls: false };
  }
  if (url !== undefined && url !== null && (image === undefined || image === null)) {
    return { picture: url, param: 'image_url', urls: true };
  }
  throw new PlatformError('INVALID_REQUEST', 'Exactly one of image and image_url must be given.', 'image');
}
