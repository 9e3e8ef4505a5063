import { Inject, Injectable } from '@nestjs/common';
import { type HttpExchange, MediaArtifacts, type ModelRequest, TextRewriter } from '#gateway';
import type { ImageLimits } from '#media';
import { additionalInputs, type ImageJobPayload, maxImagePixels, unitOfImage } from '../contract/index.js';
import {
  type BackgroundRemoveImageRequest,
  maxImageBytes,
  type UpscaleImageRequest,
  type WireImage,
} from '../contract/image.request.js';
import { assertOperation, editFormat, isRedrawn, plainPayload, promptLimitOf, upscaleFactor } from './edit-payloads.js';
import { type EditOrder, onlyImage, planEdit, redrawing, sizeOfEdit } from './edit-plan.js';
import { enhancePrompt } from './enhance-prompt.js';
import { sendImage } from './image.presenter.js';
import { ImageService } from './image.service.js';

const minPixels = 65_536;
/** Kept for the deadline of the job and a little more, should no process be left to delete it. */
const lifetimeMs = 1_200_000;
const timeoutMs = 30_000;
/** Trait of the model that cuts pictures out. */
const backgroundTrait = 'background_removal';

/** Takes pictures and makes one of them. Each method rejects with what is wrong with the request, by its field. */
@Injectable()
export class ImageEditor {
  constructor(
    @Inject(ImageService) private readonly images: ImageService,
    @Inject(MediaArtifacts) private readonly artifacts: MediaArtifacts,
    @Inject(TextRewriter) private readonly rewriter: TextRewriter,
  ) {}

  async upscale(http: HttpExchange, wire: UpscaleImageRequest): Promise<Buffer> {
    const opened = await this.images.open(http, { name: undefined, type: 'upscale' });
    const read = this.readerOf(http, { minPixels });
    const { artifactId, header } = await read(wire.image, { param: 'image', urls: false });
    const scale = upscaleFactor(wire.scale, header);
    return await this.run(http, opened, {
      ...plainPayload('upscale', [artifactId]),
      scale,
      priceOfImage: `upscale.${scale}x`,
    });
  }

  async removeBackground(http: HttpExchange, wire: BackgroundRemoveImageRequest): Promise<Buffer> {
    const { image, ...from } = onlyImage(wire);
    const opened = await this.images.open(http, { name: backgroundTrait, type: 'inpaint' });
    assertOperation(opened.manifest, 'remove-background');
    const { artifactId } = await this.readerOf(http, { maxPixels: maxImagePixels })(image, from);
    return await this.run(http, opened, plainPayload('remove-background', [artifactId]));
  }

  async edit(http: HttpExchange, order: EditOrder): Promise<Buffer> {
    const { wire, images, param } = order;
    const opened = await this.images.open(http, { name: wire.model ?? wire.modelId, type: 'inpaint' });
    const { manifest } = opened;
    assertOperation(manifest, 'edit');
    const plan = planEdit(order, manifest);
    const read = this.readerOf(http, { minPixels, maxPixels: maxImagePixels });
    const taken = [];
    for (const image of images) taken.push(await read(image, { param, urls: true }));
    const limited = await opened.limit();
    const pricing = limited.price.pricing;
    const [base] = taken;
    const safeMode = wire.safe_mode ?? true;
    const { prompt, units, announce } = await enhancePrompt(this.rewriter, http, {
      prompt: wire.prompt,
      wanted: wire.enhance_prompt,
      kind: 'edit',
      safeMode,
      maxCharacters: promptLimitOf(manifest),
    });
    const inputs = taken.map(({ artifactId }) => artifactId);
    const payload: ImageJobPayload = {
      ...plainPayload('edit', inputs),
      ...(base !== undefined && isRedrawn(manifest) ? sizeOfEdit(plan, base.header) : {}),
      ...redrawing(manifest.familyOptions),
      prompt,
      format: editFormat(wire.output_format, plan.resolution),
      safeMode,
      priceOfImage: unitOfImage(pricing, { flat: 'inpaint', ...plan }),
      extraUnits: { ...additionalInputs(pricing, taken.length), ...units },
    };
    const { images: finished } = await this.images.run(http, limited, payload);
    announce();
    return sendImage(http.reply, finished[0], 'IMAGE_EDIT_ERROR', 'The edit brought no picture.');
  }

  private async run(http: HttpExchange, opened: ModelRequest, payload: ImageJobPayload): Promise<Buffer> {
    const { images } = await this.images.run(http, await opened.limit(), payload);
    return sendImage(http.reply, images[0], 'INFERENCE_FAILED', 'The model brought no picture.');
  }

  private readerOf(http: HttpExchange, limits: ImageLimits) {
    const reader = this.artifacts.inputsOf(http, lifetimeMs);
    return (image: WireImage, from: { param: string; urls: boolean }) =>
      reader.image(image, { ...from, base64: true, maxBytes: maxImageBytes, timeoutMs, limits });
  }
}
