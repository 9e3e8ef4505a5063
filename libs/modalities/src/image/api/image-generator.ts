import { Injectable } from '@nestjs/common';
import { type ModelRequest, requireRunFits, TextRewriter } from '#gateway';
import type { FrameSize } from '#media';
import type { ImageConstraints } from '#model-registry/manifest';
import { type HttpExchange, isGiven, type StreamedResponse } from '#platform/http';
import type { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { enhancementUnit } from '../contract/index.js';
import { assertOperation, promptLimitOf } from './edit-payloads.js';
import { enhancePrompt, requireEnhancer } from './enhance-prompt.js';
import { normalizeGenerate } from './image.normalizer.js';
import type { MadeImages } from './image.presenter.js';
import { ImageService, type PreparedImages } from './image.service.js';
import { fieldsOfSize } from './openai-size.js';

interface PreparedGeneration extends PreparedImages {
  http: HttpExchange;
  modelId: string;
  /** Sets the header of a rewritten prompt. */
  announce: () => void;
}

/** Makes images from text. */
@Injectable()
export class ImageGenerator {
  constructor(
    private readonly images: ImageService,
    private readonly rewriter: TextRewriter,
  ) {}

  async generate(http: HttpExchange, body: GenerateImageRequest): Promise<MadeImages> {
    const opened = await this.images.open(http, { name: body.model, type: 'image' });
    return await this.make(await this.prepare(opened, body));
  }

  /** The images of a request of OpenAI's route. */
  async generateSimply(http: HttpExchange, body: SimpleGenerateImageRequest): Promise<MadeImages> {
    return await this.make(await this.prepareSimply(http, body));
  }

  /** Returns the images of a request of OpenAI's route as events. */
  async streamSimply(http: HttpExchange, body: SimpleGenerateImageRequest): Promise<StreamedResponse> {
    return await this.images.stream(http, await this.prepareSimply(http, body), 'image_generation.completed');
  }

  private async make({ http, modelId, limited, payload, announce }: PreparedGeneration): Promise<MadeImages> {
    const finished = await this.images.run(http, { limited, payload });
    announce();
    return { ...finished, modelId, payload };
  }

  private async prepareSimply(http: HttpExchange, body: SimpleGenerateImageRequest): Promise<PreparedGeneration> {
    const opened = await this.images.open(http, { name: body.model, type: 'image', unknownIsDefault: true });
    return await this.prepare(
      opened,
      {
        model: opened.manifest.id,
        prompt: body.prompt,
        ...fieldsOfSize(body.size, opened.manifest),
        format: body.output_format ?? 'png',
        variants: body.n ?? 1,
        safe_mode: body.moderation !== 'low',
      },
      'size',
    );
  }

  private async prepare(
    opened: ModelRequest,
    body: GenerateImageRequest,
    sizeParam = sizeParamOf(body),
  ): Promise<PreparedGeneration> {
    const { manifest, http } = opened;
    assertOperation(manifest, 'generate');
    const pricing = (await opened.price()).pricing;
    // Reports an invalid request before it counts against a limit or anything is rewritten.
    const payload = normalizeGenerate(body, manifest, pricing);
    const { widthHeightDivisor: divisor } = manifest.constraints as unknown as ImageConstraints;
    requireRunFits(opened.resolved, { ...sizeOf(payload.drawn ?? payload), divisor, param: sizeParam });
    await requireEnhancer(this.rewriter, http, body.enhance_prompt);
    if (body.enhance_prompt === true) await this.images.screen(opened, payload);
    const limited = await opened.limit();
    const { prompt, units, announce } = await enhancePrompt(this.rewriter, http, {
      prompt: body.prompt,
      wanted: body.enhance_prompt,
      kind: 'generate',
      safeMode: payload.safeMode,
      maxCharacters: promptLimitOf(manifest),
    });
    const used =
      units[enhancementUnit] === undefined
        ? payload
        : { ...normalizeGenerate({ ...body, prompt }, manifest, pricing), extraUnits: units };
    return { http, modelId: manifest.id, limited, payload: used, announce };
  }
}

function sizeOf({ width, height }: FrameSize): FrameSize {
  return { width, height };
}

/** The field that chose the size. */
function sizeParamOf({ width, height, resolution, aspect_ratio: ratio }: GenerateImageRequest): string {
  if (isGiven(width) || isGiven(height)) return (height ?? 0) > (width ?? 0) ? 'height' : 'width';
  if (isGiven(resolution)) return 'resolution';
  return isGiven(ratio) ? 'aspect_ratio' : 'width';
}
