import { Injectable } from '@nestjs/common';
import { type LimitedModelRequest, MediaArtifacts, type ModelRequest, requireRunFits, TextRewriter } from '#gateway';
import { type ImageHeader, type ImageLimits, readImageHeader } from '#media';
import type { ModelManifest } from '#model-registry/manifest';
import type { HttpExchange, StreamedResponse } from '#platform/http';
import { additionalInputs, type ImageJobPayload, maxImagePixels, unitOfImage } from '../contract/index.js';
import {
  type BackgroundRemoveImageRequest,
  maxImageBytes,
  type UpscaleImageRequest,
  type WireImage,
} from '../contract/image.request.js';
import { assertOperation, editFormat, isRedrawn, plainPayload, promptLimitOf, upscaleFactor } from './edit-payloads.js';
import {
  checkSize,
  editedSize,
  type ImageEdit,
  type EditPlan,
  onlyImage,
  planEdit,
  redrawing,
  redrawnSize,
} from './edit-plan.js';
import { enhancePrompt, requireEnhancer } from './enhance-prompt.js';
import { respondWithImage } from './image.presenter.js';
import { type FinishedImage, ImageService, type PreparedImages } from './image.service.js';

/** A stored input image. */
interface TakenImage {
  artifactId: string;
  header: ImageHeader;
}

/** What the payload of an edit is made from. */
interface EditParts {
  edit: ImageEdit;
  plan: EditPlan;
  taken: readonly TakenImage[];
  manifest: ModelManifest;
  limited: LimitedModelRequest;
}

interface PreparedEdit extends PreparedImages {
  /** Sets the header of a rewritten prompt. */
  announce: () => void;
}

const minPixels = 65_536;
/** OpenAI's routes have no minimum; below this an image shows nothing. */
const minOpenaiPixels = 4_096;
/** Inputs expire a while after the job's deadline in case no process deletes them. */
const lifetimeMs = 1_200_000;
const inputSource = { base64: true, maxBytes: maxImageBytes, timeoutMs: 30_000 };
/** Trait of the model that removes backgrounds. */
const backgroundTrait = 'background_removal';

/** Makes an image from images. Each method rejects with what is wrong with the request, naming the field. */
@Injectable()
export class ImageEditor {
  constructor(
    private readonly images: ImageService,
    private readonly artifacts: MediaArtifacts,
    private readonly rewriter: TextRewriter,
  ) {}

  async upscale(http: HttpExchange, body: UpscaleImageRequest): Promise<Buffer> {
    const opened = await this.images.open(http, { name: undefined, type: 'upscale' });
    const read = this.readerOf(opened, { minPixels });
    const { artifactId, header } = await read(body.image, { param: 'image', urls: false });
    const scale = upscaleFactor(body.scale, header);
    requireRunFits(opened.resolved, { width: header.width, height: header.height, param: 'image' });
    return await this.run(http, opened, {
      ...plainPayload('upscale', [artifactId]),
      scale,
      priceOfImage: `upscale.${scale}x`,
    });
  }

  async removeBackground(http: HttpExchange, body: BackgroundRemoveImageRequest): Promise<Buffer> {
    const { image, ...from } = onlyImage(body);
    const opened = await this.images.open(http, { name: backgroundTrait, type: 'inpaint' });
    assertOperation(opened.manifest, 'remove-background');
    const { artifactId } = await this.readerOf(opened, { maxPixels: maxImagePixels })(image, from);
    return await this.run(http, opened, plainPayload('remove-background', [artifactId]));
  }

  async edit(http: HttpExchange, edit: ImageEdit): Promise<Buffer> {
    const [image] = await this.editAll(http, edit);
    return respondWithImage(http, image, 'IMAGE_EDIT_ERROR', 'The edit returned no image.');
  }

  /** Makes as many results as the edit says, with the named model or the default one for what was sent. */
  async editAll(http: HttpExchange, edit: ImageEdit): Promise<FinishedImage[]> {
    const { announce, ...prepared } = await this.prepare(http, edit);
    const { images } = await this.images.run(http, prepared);
    announce();
    return images;
  }

  /** Returns the results of an edit as events. */
  async streamAll(http: HttpExchange, edit: ImageEdit): Promise<StreamedResponse> {
    return await this.images.stream(http, await this.prepare(http, edit), 'image_edit.completed');
  }

  private async prepare(http: HttpExchange, received: ImageEdit): Promise<PreparedEdit> {
    const { body, isOpenai = false, varies = false } = received;
    const { edit, drawsAnew } = await this.inspect(http, received);
    const opened = await this.images.open(http, {
      name: body.model ?? body.modelId,
      type: drawsAnew ? ['image', 'inpaint'] : ['inpaint', 'image'],
      unknownIsDefault: isOpenai,
    });
    const { manifest } = opened;
    assertOperation(manifest, varies ? 'vary' : 'edit');
    const plan = planEdit(edit, manifest);
    await requireEnhancer(this.rewriter, http, body.enhance_prompt);
    const { prompt: instruction } = body;
    if (body.enhance_prompt === true)
      await this.images.screen(opened, { ...plainPayload('edit', []), prompt: instruction });
    const taken = await this.readAll(opened, edit);
    if (taken[0] !== undefined) checkSize(edit, manifest, taken[0].header);
    requireRunFits(opened.resolved, editedSize(edit, { plan, manifest, image: taken[0]?.header ?? null }));
    const limited = await opened.limit();
    return { limited, ...(await this.payloadOf(http, { edit, plan, taken, manifest, limited })) };
  }

  /**
   * Finds out whether the default model is one that draws anew: for variations, and on OpenAI's route for an opaque image
   * without a mask, in which nothing is to be filled. Returns the edit with what was read for that.
   */
  private async inspect(http: HttpExchange, edit: ImageEdit): Promise<{ edit: ImageEdit; drawsAnew: boolean }> {
    const { images, isOpenai = false, varies = false, param } = edit;
    const [image] = images;
    if (varies || !isOpenai || image === undefined || images.length > 1) return { edit, drawsAnew: varies };
    const file = await this.artifacts.read(http, image, { ...inputSource, param });
    const owner = http.caller.accountId;
    const limits = { minPixels: minOpenaiPixels, maxPixels: maxImagePixels, maxBytes: maxImageBytes, owner, param };
    const { hasAlpha } = await readImageHeader(file.bytes, { ...limits, findsTransparency: true });
    return { edit: { ...edit, images: [file] }, drawsAnew: !hasAlpha };
  }

  private async readAll(
    opened: ModelRequest,
    { images, param, maskParam = param, isOpenai = false }: ImageEdit,
  ): Promise<TakenImage[]> {
    const read = this.readerOf(opened, {
      minPixels: isOpenai ? minOpenaiPixels : minPixels,
      maxPixels: maxImagePixels,
    });
    const taken: TakenImage[] = [];
    for (const [index, image] of images.entries()) {
      taken.push(await read(image, { param: index === 0 ? param : maskParam, urls: true }));
    }
    return taken;
  }

  private async payloadOf(
    http: HttpExchange,
    { edit, plan, taken, manifest, limited }: EditParts,
  ): Promise<{ payload: ImageJobPayload; announce: () => void }> {
    const { body, mask, count = 1 } = edit;
    const { pricing } = limited.price;
    const [base] = taken;
    const safeMode = body.safe_mode ?? true;
    const redrawn =
      base !== undefined && isRedrawn(manifest)
        ? redrawnSize(plan, edit, { image: base.header, manifest, pricing })
        : { resolution: plan.resolution };
    const { prompt, units, announce } = await enhancePrompt(this.rewriter, http, {
      prompt: body.prompt,
      wanted: body.enhance_prompt,
      kind: 'edit',
      safeMode,
      maxCharacters: promptLimitOf(manifest),
    });
    const { resolution, ...size } = redrawn;
    const inputs = taken.map(({ artifactId }) => artifactId);
    // Without a mask, a generating model makes the whole image anew.
    const keepsAlpha = base?.header.hasAlpha === true && (taken.length > 1 || !isRedrawn(manifest));
    const plain = plainPayload('edit', inputs);
    const flat = manifest.type === 'inpaint' ? 'inpaint' : 'generation';
    const payload: ImageJobPayload = {
      ...plain,
      ...size,
      ...redrawing(manifest, edit),
      prompt,
      seeds: plain.seeds.flatMap((seed) => Array.from({ length: count }, (_, index) => seed + index)),
      format: editFormat(body.output_format, { resolution, keepsAlpha }),
      safeMode,
      priceOfImage: unitOfImage(pricing, { flat, quality: plan.quality, resolution }),
      extraUnits: { ...additionalInputs(pricing, taken.length), ...units },
      ...(mask !== undefined && taken.length > 1 && { mask }),
    };
    return { payload, announce };
  }

  private async run(http: HttpExchange, opened: ModelRequest, payload: ImageJobPayload): Promise<Buffer> {
    const { images } = await this.images.run(http, { limited: await opened.limit(), payload });
    return respondWithImage(http, images[0], 'INFERENCE_FAILED', 'The model returned no image.');
  }

  private readerOf({ http, manifest }: ModelRequest, limits: ImageLimits) {
    const reader = this.artifacts.inputsOf(http, manifest.id, lifetimeMs);
    return (image: WireImage, from: { param: string; urls: boolean }) =>
      reader.image(image, { ...inputSource, ...from, limits });
  }
}
