import { Injectable } from '@nestjs/common';
import { type HttpExchange, type ModelRequest, requireRunFits, TextRewriter } from '#gateway';
import type { FrameSize } from '#media';
import type { ImageConstraints } from '#model-registry/manifest';
import { isGiven } from '#platform/http';
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

  async generate(http: HttpExchange, wire: GenerateImageRequest): Promise<MadeImages> {
    const opened = await this.images.open(http, { name: wire.model, type: 'image' });
    return await this.make(await this.prepare(opened, wire));
  }

  /** The images of a request of OpenAI's route. */
  async generateSimply(http: HttpExchange, wire: SimpleGenerateImageRequest): Promise<MadeImages> {
    return await this.make(await this.prepareSimply(http, wire));
  }

  /** Sends the images of a request of OpenAI's route as events. */
  async streamSimply(http: HttpExchange, wire: SimpleGenerateImageRequest): Promise<void> {
    await this.images.stream(http, await this.prepareSimply(http, wire), 'image_generation.completed');
  }

  private async make({ http, modelId, limited, payload, announce }: PreparedGeneration): Promise<MadeImages> {
    const finished = await this.images.run(http, { limited, payload });
    announce();
    return { ...finished, modelId, payload };
  }

  private async prepareSimply(http: HttpExchange, wire: SimpleGenerateImageRequest): Promise<PreparedGeneration> {
    const opened = await this.images.open(http, { name: wire.model, type: 'image', unknownIsDefault: true });
    return await this.prepare(
      opened,
      {
        model: opened.manifest.id,
        prompt: wire.prompt,
        ...fieldsOfSize(wire.size, opened.manifest),
        format: wire.output_format ?? 'png',
        variants: wire.n ?? 1,
        safe_mode: wire.moderation !== 'low',
      },
      'size',
    );
  }

  private async prepare(
    opened: ModelRequest,
    wire: GenerateImageRequest,
    sizeParam = sizeParamOf(wire),
  ): Promise<PreparedGeneration> {
    const { manifest, http } = opened;
    assertOperation(manifest, 'generate');
    const pricing = (await opened.price()).pricing;
    // Reports an invalid request before it counts against a limit or anything is rewritten.
    const payload = normalizeGenerate(wire, manifest, pricing);
    const { widthHeightDivisor: divisor } = manifest.constraints as unknown as ImageConstraints;
    requireRunFits(opened.resolved, { ...sizeOf(payload.drawn ?? payload), divisor, param: sizeParam });
    await requireEnhancer(this.rewriter, http, wire.enhance_prompt);
    if (wire.enhance_prompt === true) await this.images.screen(opened, payload);
    const limited = await opened.limit();
    const { prompt, units, announce } = await enhancePrompt(this.rewriter, http, {
      prompt: wire.prompt,
      wanted: wire.enhance_prompt,
      kind: 'generate',
      safeMode: payload.safeMode,
      maxCharacters: promptLimitOf(manifest),
    });
    const used =
      units[enhancementUnit] === undefined
        ? payload
        : { ...normalizeGenerate({ ...wire, prompt }, manifest, pricing), extraUnits: units };
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
