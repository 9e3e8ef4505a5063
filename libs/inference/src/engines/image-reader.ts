import { PlatformError } from '#common';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import {
  type ChatPrompt,
  isBarePrompt,
  type PromptImage,
  type TextGenerationRequest,
} from '../contract/text-generation.js';
import type { RgbPixels } from '../images/pixel-grid.js';
import type { MediaSpan, PromptMedia } from '../scheduler/prompt-media.js';
import { rotaryPositions } from '../text/rotary-positions.js';
import {
  buildImagePrompt,
  buildPrompt,
  type BuiltPrompt,
  type ChatTemplate,
  findImages,
  type ImageLayout,
  type ImageRun,
} from '../text/index.js';

/** Maximum bytes of kept features: those of some fifty images of a small model. */
const defaultMaxBytes = 128 * 1024 * 1024;

/** Encoded images by their hash, the least recently used dropped first: a conversation sends its images every turn. */
class ImageFeatureCache {
  private readonly kept = new Map<string, Float32Array>();
  private bytes = 0;

  constructor(private readonly maxBytes = defaultMaxBytes) {}

  get(hash: string): Float32Array | undefined {
    const features = this.kept.get(hash);
    if (features === undefined) return undefined;
    this.kept.delete(hash);
    this.kept.set(hash, features);
    return features;
  }

  /** Ignores features that are larger than the whole cache. */
  add(hash: string, features: Float32Array): void {
    if (features.byteLength > this.maxBytes || this.kept.has(hash)) return;
    this.kept.set(hash, features);
    this.bytes += features.byteLength;
    for (const [oldest, { byteLength }] of this.kept) {
      if (this.bytes <= this.maxBytes) return;
      this.kept.delete(oldest);
      this.bytes -= byteLength;
    }
  }
}

/** Preprocessing and vision encoder of one model. */
export interface ImageEncoder {
  /** Text of the token that stands for an image in the chat template and for one position of it in the prompt. */
  readonly placeholder: string;
  readonly imageTokenId: number;
  /** Whether the decoder counts positions in time, height and width. */
  readonly hasRotaryGrid: boolean;
  /** Returns how an image of this size stands in a prompt. Throws `PlatformError` for a size it cannot read. */
  layout(image: PromptImage): ImageLayout;
  /** Returns `[tokens, width]`. `isWanted` is asked between runs; false ends the work with an error. */
  encode(pixels: RgbPixels, layout: ImageLayout, isWanted: () => boolean): Promise<Float32Array>;
  close(): Promise<void>;
}

/** The images of a prompt and their positions. */
export interface PlacedImages {
  /** Computes what the decoder reads at the images' positions. Rejects if they are no longer wanted. */
  read(isWanted: () => boolean): Promise<PromptMedia>;
}

export interface BuiltImagePrompt {
  built: BuiltPrompt;
  /** Takes the tokens of the built text; null without images. */
  placeImages(promptIds: Int32Array): PlacedImages | null;
}

interface PlacedImage {
  image: PromptImage;
  layout: ImageLayout;
  runs: ImageRun[];
}

/**
 * Puts images into the prompts of a model that sees. Images are encoded one after the other, and the event loop turns
 * between two runs, so sequences of the batch go on. Features of the latest images are kept.
 */
export class ImageReader {
  private readonly features = new ImageFeatureCache();
  private tail: Promise<unknown> = Promise.resolve();

  constructor(private readonly encoder: ImageEncoder) {}

  /** Throws what is wrong with an image, or that the template has no place for one. */
  buildPrompt(
    prompt: TextGenerationRequest['prompt'],
    template: ChatTemplate | null,
    reasoning: ReasoningFormat | null,
  ): BuiltImagePrompt {
    if (isBarePrompt(prompt)) return { built: buildPrompt(prompt, template, reasoning), placeImages: () => null };
    const { placeholder, imageTokenId } = this.encoder;
    const images = this.imagesOf(prompt);
    const layouts = images.map((image) => this.encoder.layout(image));
    const { built, places } = buildImagePrompt(prompt, template, { placeholder, layouts, reasoning });
    const placeImages = (promptIds: Int32Array): PlacedImages | null => {
      if (images.length === 0) return null;
      const runs = findImages(promptIds, places, imageTokenId);
      const placed = images.flatMap((image, index) => {
        const layout = layouts[index];
        return layout === undefined ? [] : [{ image, layout, runs: runs[index] ?? [] }];
      });
      return { read: (isWanted) => this.read(promptIds, placed, isWanted) };
    };
    return { built, placeImages };
  }

  async close(): Promise<void> {
    await this.encoder.close();
  }

  private imagesOf({ messages, images = [] }: ChatPrompt): PromptImage[] {
    const places = messages.reduce((sum, { imagePositions = [] }) => sum + imagePositions.length, 0);
    if (places === images.length) return images;
    throw new PlatformError(
      'INVALID_REQUEST',
      'The messages have another number of images than were sent.',
      'messages',
    );
  }

  private async read(
    promptIds: Int32Array,
    placed: readonly PlacedImage[],
    isWanted: () => boolean,
  ): Promise<PromptMedia> {
    const spans: MediaSpan[] = [];
    const keys = promptIds.slice();
    for (const { image, layout, runs } of placed) {
      const features = await this.inTurn(() => this.featuresOf(image, layout, isWanted));
      const width = features.length / layout.tokens;
      for (const { start, length, offset } of runs) {
        spans.push({
          start,
          positions: length,
          embeddings: features.subarray(offset * width, (offset + length) * width),
        });
        for (let index = 0; index < length; index++) keys[start + index] = keyOf(image.hash, offset + index);
      }
    }
    if (!this.encoder.hasRotaryGrid) return { spans, keys };
    return { spans, keys, rotary: rotaryPositions(promptIds.length, placed) };
  }

  private async featuresOf(
    { hash, pixels }: PromptImage,
    layout: ImageLayout,
    isWanted: () => boolean,
  ): Promise<Float32Array> {
    const known = this.features.get(hash);
    if (known !== undefined) return known;
    const features = await this.encoder.encode(pixels, layout, isWanted);
    this.features.add(hash, features);
    return features;
  }

  /** Two images at once would only share the processor. */
  private async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return await result;
  }
}

/**
 * Returns a negative number that tells apart positions of different images: 31 bits of the image's hash, others at each
 * of eight neighboring positions.
 */
function keyOf(hash: string, index: number): number {
  const words = Math.max(1, Math.min(8, Math.floor(hash.length / 8)));
  const at = (index % words) * 8;
  const bits = Number.parseInt(hash.slice(at, at + 8), 16) ^ Math.imul(index, 0x9e3779b1);
  return bits | 0x8000_0000;
}
