import { inSlices } from '../../images/in-slices.js';
import { type PixelArea, type RgbPixels, wholeArea } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
import {
  clipNormals,
  filterOf,
  Normalizer,
  type PreprocessorFile,
  sideOf,
  unfit,
  type VisionLanguageConfig,
} from './preprocessor-config.js';
import { imageTokenOf, type ProcessorFiles, requireWanted, type VisionProcessor } from './vision-processor.js';
import type { VisionSession } from './vision-session.js';

interface Size {
  width: number;
  height: number;
}

const defaultSide = 336;

/**
 * LLaVA: every image is scaled to one resolution and its middle is cut out, with one token per patch.
 *
 * Source: `CLIPImageProcessor` and `LlavaProcessor` of transformers 4.57.
 */
export class LlavaProcessor implements VisionProcessor {
  readonly placeholder = '<image>';
  readonly hasRotaryGrid = false;
  readonly imageTokenId: number;
  readonly maxImageTokens: number;
  readonly maxFrameTokens: number;
  private readonly session: VisionSession;
  /** Size of the encoder's input. */
  private readonly size: Size;
  private readonly shortestEdge: number | null;
  private readonly filter: ResampleFilter;
  private readonly normalizer: Normalizer;

  constructor(files: ProcessorFiles) {
    const { preprocessor, session } = files;
    this.session = session;
    this.imageTokenId = imageTokenOf(files, this.placeholder);
    this.shortestEdge = sideOf(preprocessor.size, 'shortest_edge') ?? null;
    this.size = inputSize(preprocessor);
    if (this.shortestEdge !== null && this.shortestEdge < Math.max(this.size.width, this.size.height)) {
      throw unfit('its crop_size is larger than its size');
    }
    this.filter = filterOf(preprocessor, 'bicubic');
    this.normalizer = new Normalizer(preprocessor, clipNormals);
    this.maxImageTokens = tokensOf(this.size, preprocessor, files.config);
    this.maxFrameTokens = this.maxImageTokens;
  }

  layout(): ImageLayout {
    const tokens = this.maxImageTokens;
    return { tokens, text: this.placeholder.repeat(tokens) };
  }

  async encode(pixels: RgbPixels, { tokens }: ImageLayout, isWanted: () => boolean): Promise<Float32Array> {
    const { session, size, filter } = this;
    const scaled = await inSlices(resample(pixels, { ...this.scaledSize(pixels), filter }));
    requireWanted(isWanted);
    const planes = this.normalizer.planes(scaled, middleOf(scaled, size));
    const feeds = { pixel_values: session.floats('pixel_values', planes, [1, 3, size.height, size.width]) };
    return await session.run(feeds, tokens);
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  /** The shorter edge gets a fixed length, and the longer one is rounded down; without such a length, both are fixed. */
  private scaledSize({ width, height }: Size): Size {
    const edge = this.shortestEdge;
    if (edge === null) return this.size;
    return width <= height
      ? { width: edge, height: Math.trunc((edge * height) / width) }
      : { width: Math.trunc((edge * width) / height), height: edge };
  }
}

function inputSize({ size, crop_size: crop, do_center_crop: isCropped = true }: PreprocessorFile): Size {
  const used = isCropped && crop !== undefined ? crop : size;
  const edge = sideOf(size, 'shortest_edge') ?? defaultSide;
  return { width: sideOf(used, 'width') ?? edge, height: sideOf(used, 'height') ?? edge };
}

function tokensOf(
  { width, height }: Size,
  {
    patch_size: patchSize,
    num_additional_image_tokens: added = 0,
    vision_feature_select_strategy: named,
  }: PreprocessorFile,
  { vision_config: vision, vision_feature_select_strategy: configured }: VisionLanguageConfig,
): number {
  const patch = patchSize ?? vision?.patch_size;
  if (patch === undefined) throw unfit('neither processor_config.json nor config.json names the patch_size');
  const strategy = named ?? configured ?? 'default';
  // The first position of CLIP stands for the whole image; the usual strategy leaves it out.
  const first = strategy === 'default' ? Math.min(1, added) : 0;
  return Math.floor(height / patch) * Math.floor(width / patch) + added - first;
}

function middleOf(image: Size, { width, height }: Size): PixelArea {
  const whole = wholeArea(image);
  if (whole.width === width && whole.height === height) return whole;
  return {
    left: Math.floor((image.width - width) / 2),
    top: Math.floor((image.height - height) / 2),
    width,
    height,
  };
}
