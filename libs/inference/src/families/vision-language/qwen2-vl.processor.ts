import { PlatformError } from '#common';
import type { PromptImage } from '../../contract/text-generation.js';
import { inSlices } from '../../images/in-slices.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
import { clipNormals, filterOf, Normalizer, sideOf } from './preprocessor-config.js';
import { imageTokenOf, type ProcessorFiles, requireWanted, type VisionProcessor } from './vision-processor.js';
import { QwenVisionFeeds } from './qwen-vision-feeds.js';
import type { VisionSession } from './vision-session.js';

interface PatchLayout extends ImageLayout {
  /** Size that the image is scaled to: whole groups of patches. */
  scaled: { width: number; height: number };
  grid: { rows: number; columns: number };
}

const maxRatio = 200;
const defaultMinPixels = 56 * 56;
const defaultMaxPixels = 28 * 28 * 1_280;

/**
 * Qwen2-VL and Qwen3-VL: an image keeps its resolution within bounds. It is cut into patches, which the encoder gets in groups of
 * `merge` by `merge`; a group is one token. The decoder counts positions in time, height and width.
 *
 * Source: `Qwen2VLImageProcessor` and `Qwen2VLProcessor` of transformers 4.57.
 */
export class Qwen2VlProcessor implements VisionProcessor {
  readonly placeholder = '<|image_pad|>';
  readonly hasRotaryGrid = true;
  readonly imageTokenId: number;
  readonly maxImageTokens: number;
  readonly maxFrameTokens: number;
  private readonly session: VisionSession;
  private readonly feeds: QwenVisionFeeds;
  private readonly patch: number;
  private readonly merge: number;
  /** Frames of one group of patches in time; an image repeats itself. */
  private readonly moments: number;
  private readonly minPixels: number;
  private readonly filter: ResampleFilter;
  private readonly normalizer: Normalizer;

  constructor(files: ProcessorFiles) {
    const { preprocessor, session, limits, config } = files;
    this.session = session;
    this.imageTokenId = imageTokenOf(files, this.placeholder);
    this.patch = preprocessor.patch_size ?? config.vision_config?.patch_size ?? 14;
    this.merge = preprocessor.merge_size ?? 2;
    this.feeds = new QwenVisionFeeds(session, { ...config.vision_config, patch: this.patch, merge: this.merge });
    this.moments = preprocessor.temporal_patch_size ?? 2;
    this.minPixels = preprocessor.min_pixels ?? sideOf(preprocessor.size, 'shortest_edge') ?? defaultMinPixels;
    const maxPixels = preprocessor.max_pixels ?? sideOf(preprocessor.size, 'longest_edge') ?? defaultMaxPixels;
    // Published bounds of pixels exceed any context; the manifest's bounds of tokens scale images down further.
    const ofPixels = Math.floor(maxPixels / this.groupSide ** 2);
    this.maxImageTokens = Math.min(ofPixels, limits?.imageTokens ?? Infinity);
    this.maxFrameTokens = Math.min(this.maxImageTokens, limits?.frameTokens ?? Infinity);
    this.filter = filterOf(preprocessor, 'bicubic');
    this.normalizer = new Normalizer(preprocessor, clipNormals);
  }

  layout({ pixels, isFrame = false, param }: Pick<PromptImage, 'pixels' | 'isFrame' | 'param'>): PatchLayout {
    if (Math.max(pixels.width, pixels.height) > maxRatio * Math.min(pixels.width, pixels.height)) {
      const message = `One side of an image must not be longer than ${maxRatio} times the other.`;
      throw new PlatformError('INVALID_REQUEST', message, param);
    }
    const scaled = this.scaledSize(pixels, isFrame ? this.maxFrameTokens : this.maxImageTokens);
    const rows = scaled.height / this.groupSide;
    const columns = scaled.width / this.groupSide;
    const tokens = rows * columns;
    return { scaled, grid: { rows, columns }, tokens, text: this.placeholder.repeat(tokens) };
  }

  async encode(
    image: RgbPixels,
    { scaled, grid, tokens }: PatchLayout,
    isWanted: () => boolean,
  ): Promise<Float32Array> {
    const { session, merge, patch, moments, filter } = this;
    const resized = await inSlices(resample(image, { ...scaled, filter }));
    requireWanted(isWanted);
    const count = tokens * merge ** 2;
    const patches = this.patchesOf(this.normalizer.planes(resized), scaled);
    const pixels = session.floats('pixel_values', patches, [count, 3 * moments * patch ** 2]);
    const patchGrid = { rows: grid.rows * merge, columns: grid.columns * merge };
    return await session.run({ pixel_values: pixels, ...this.feeds.feeds(patchGrid) }, tokens);
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  private get groupSide(): number {
    return this.patch * this.merge;
  }

  /** Rounds both sides to whole groups, within the bounds of pixels. */
  private scaledSize({ width, height }: RgbPixels, maxTokens: number): { width: number; height: number } {
    const side = this.groupSide;
    const maxPixels = maxTokens * side ** 2;
    const [roundedHeight, roundedWidth] = [roundHalfEven(height / side) * side, roundHalfEven(width / side) * side];
    if (roundedHeight * roundedWidth > maxPixels) {
      const shrink = Math.sqrt((height * width) / maxPixels);
      const fit = (length: number): number => Math.max(side, Math.floor(length / shrink / side) * side);
      return withinTokens({ width: fit(width), height: fit(height) }, maxTokens, side);
    }
    if (roundedHeight * roundedWidth < this.minPixels) {
      const grow = Math.sqrt(this.minPixels / (height * width));
      const fit = (length: number): number => Math.ceil((length * grow) / side) * side;
      return withinTokens({ width: fit(width), height: fit(height) }, maxTokens, side);
    }
    return { width: roundedWidth, height: roundedHeight };
  }

  /**
   * Returns `[patches, channels × moments × patch × patch]`: groups row by row, and in each the patches row by row.
   */
  private patchesOf(planes: Float32Array, { width, height }: { width: number; height: number }): Float32Array {
    const { patch, merge, moments, groupSide } = this;
    const patches = new Float32Array(planes.length * moments);
    let to = 0;
    for (let groupTop = 0; groupTop < height; groupTop += groupSide) {
      for (let groupLeft = 0; groupLeft < width; groupLeft += groupSide) {
        for (let inner = 0; inner < merge ** 2; inner++) {
          const top = groupTop + Math.floor(inner / merge) * patch;
          const left = groupLeft + (inner % merge) * patch;
          for (let channel = 0; channel < 3; channel++) {
            for (let moment = 0; moment < moments; moment++) {
              for (let row = 0; row < patch; row++, to += patch) {
                const from = (channel * height + top + row) * width + left;
                patches.set(planes.subarray(from, from + patch), to);
              }
            }
          }
        }
      }
    }
    return patches;
  }
}

/** Long thin images have at least one group across, which may exceed the bound along. */
function withinTokens(
  { width, height }: { width: number; height: number },
  maxTokens: number,
  side: number,
): { width: number; height: number } {
  if ((width * height) / side ** 2 <= maxTokens) return { width, height };
  const most = (across: number): number => Math.max(1, Math.floor(maxTokens / (across / side))) * side;
  return width >= height ? { width: most(height), height } : { width, height: most(width) };
}

/** Rounds as Python does: halves to the even neighbor. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
