import { Inject, Injectable } from '@nestjs/common';
import { type HttpExchange, type ModelRequest, TextRewriter } from '#gateway';
import type { GenerateImageRequest, SimpleGenerateImageRequest } from '../contract/generate.request.js';
import { enhancementUnit } from '../contract/index.js';
import { assertOperation, promptLimitOf } from './edit-payloads.js';
import { enhancePrompt } from './enhance-prompt.js';
import { normalizeGenerate } from './image.normalizer.js';
import type { MadeImages } from './image.presenter.js';
import { ImageService } from './image.service.js';
import { fieldsOfSize } from './openai-size.js';

/** Makes pictures from words. */
@Injectable()
export class ImageGenerator {
  constructor(
    @Inject(ImageService) private readonly images: ImageService,
    @Inject(TextRewriter) private readonly rewriter: TextRewriter,
  ) {}

  async generate(http: HttpExchange, wire: GenerateImageRequest): Promise<MadeImages> {
    return await this.make(await this.images.open(http, { name: wire.model, type: 'image' }), wire);
  }

  async generateSimply(http: HttpExchange, wire: SimpleGenerateImageRequest): Promise<MadeImages> {
    const opened = await this.images.open(http, { name: wire.model, type: 'image', unknownIsDefault: true });
    return await this.make(opened, {
      model: opened.manifest.id,
      prompt: wire.prompt,
      ...fieldsOfSize(wire.size, opened.manifest),
      format: wire.output_format ?? 'png',
      safe_mode: wire.moderation !== 'low',
    });
  }

  private async make(opened: ModelRequest, wire: GenerateImageRequest): Promise<MadeImages> {
    const { manifest, http } = opened;
    assertOperation(manifest, 'generate');
    const pricing = (await opened.price()).pricing;
    // What is wrong with a request is said before it counts against a limit, and before anything is rewritten.
    const payload = normalizeGenerate(wire, manifest, pricing);
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
    const finished = await this.images.run(http, limited, used);
    announce();
    return { ...finished, modelId: manifest.id, payload: used };
  }
}
