import type { PromptImage } from '../../contract/text-generation.js';
import { inSlices } from '../../images/in-slices.js';
import { type PixelArea, pastedInto, type RgbPixels } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
import { clipNormals, filterOf, Normalizer, sideOf, unfit } from './preprocessor-config.js';
import { imageTokenOf, type ProcessorFiles, requireWanted, type VisionProcessor } from './vision-processor.js';
import type { VisionSession } from './vision-session.js';

interface Size {
  width: number;
  height: number;
}

interface AnyResolutionLayout extends ImageLayout {
  /** Null: the image is encoded whole only. */
  tiles: Tiles | null;
}

interface Tiles {
  /** Size of all tiles together. */
  resolution: Size;
  /** Size of the image in the middle of it. */
  scaled: Size;
  /** Patches of the tiles that show the image. */
  kept: PixelArea;
}

/** Tokens of a tile, and the vector that ends a row of tokens. */
interface TileFeatures {
  tokens: Float32Array;
  lineEnd: Float32Array;
}

/**
 * LLaVA 1.6: an image is encoded whole, and once more in the resolution out of a list that wastes least of it, cut into
 * tiles. Their tokens stand row by row over all tiles, without those of the padding; a learned vector ends each row.
 * Frames of videos are encoded whole only.
 *
 * Source: `image_processing_llava_next.py` and `modeling_llava_next.py` of transformers 5.23.
 */
export class LlavaNextProcessor implements VisionProcessor {
  readonly placeholder = '<image>';
  readonly hasRotaryGrid = false;
  readonly imageTokenId: number;
  readonly maxImageTokens: number;
  readonly maxFrameTokens: number;
  private readonly session: VisionSession;
  /** Side of a tile in pixels, and in patches. */
  private readonly side: number;
  private readonly grid: number;
  private readonly resolutions: readonly Size[];
  private readonly filter: ResampleFilter;
  private readonly normalizer: Normalizer;

  constructor(files: ProcessorFiles) {
    const { preprocessor, config, session } = files;
    this.session = session;
    this.imageTokenId = imageTokenOf(files, this.placeholder);
    const { image_size: side, patch_size: patch } = config.vision_config ?? {};
    if (side === undefined || patch === undefined) throw unfit('its config.json does not name the sides of its tiles');
    this.side = side;
    this.grid = Math.floor(side / patch);
    const { size, crop_size: crop } = preprocessor;
    const tile = sideOf(crop, 'height') ?? sideOf(size, 'height') ?? sideOf(size, 'shortest_edge') ?? side;
    if (tile !== side) {
      throw unfit(`its preprocessor_config.json makes tiles of another size than its encoder takes, which is ${side}`);
    }
    const { image_grid_pinpoints: listed = [] } = config;
    this.resolutions = listed.map(([height = 0, width = 0]) => ({ width, height }));
    const patches = this.resolutions.map((resolution) => this.patchesOf(resolution));
    this.maxFrameTokens = this.grid ** 2 + 1;
    this.maxImageTokens = this.grid ** 2 + Math.max(...patches.map(({ width, height }) => (width + 1) * height));
    if (!Number.isInteger(this.maxImageTokens)) throw unfit('its image_grid_pinpoints are not whole tiles');
    this.filter = filterOf(preprocessor, 'bicubic');
    this.normalizer = new Normalizer(preprocessor, clipNormals);
  }

  layout({ pixels, isFrame = false }: Pick<PromptImage, 'pixels' | 'isFrame'>): AnyResolutionLayout {
    const tiles = isFrame ? null : this.tilesOf(pixels);
    const tokens = tiles === null ? this.maxFrameTokens : this.grid ** 2 + (tiles.kept.width + 1) * tiles.kept.height;
    return { tiles, tokens, text: this.placeholder.repeat(tokens) };
  }

  async encode(
    pixels: RgbPixels,
    { tiles, tokens }: AnyResolutionLayout,
    isWanted: () => boolean,
  ): Promise<Float32Array> {
    const { side, filter } = this;
    const square = await inSlices(resample(pixels, { width: side, height: side, filter }));
    requireWanted(isWanted);
    const whole = await this.encodeTile(square);
    const features = new Float32Array(tokens * whole.lineEnd.length);
    features.set(whole.tokens);
    if (tiles === null) features.set(whole.lineEnd, whole.tokens.length);
    else {
      const rows = features.subarray(whole.tokens.length);
      await this.encodeTiles(pixels, { tiles, lineEnd: whole.lineEnd, rows }, isWanted);
    }
    return features;
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  /** Writes the rows of tokens that show the image, each with its end. */
  private async encodeTiles(
    pixels: RgbPixels,
    { tiles, lineEnd, rows }: { tiles: Tiles; lineEnd: Float32Array; rows: Float32Array },
    isWanted: () => boolean,
  ): Promise<void> {
    const { side, grid, filter } = this;
    const { resolution, scaled, kept } = tiles;
    const resized = await inSlices(resample(pixels, { ...scaled, filter }));
    const padded = pastedInto(resolution, resized, middle(scaled, resolution));
    const width = lineEnd.length;
    const rowLength = (kept.width + 1) * width;
    for (let row = 0; row < kept.height; row++) rows.set(lineEnd, row * rowLength + kept.width * width);
    for (let top = 0; top < resolution.height; top += side) {
      for (let left = 0; left < resolution.width; left += side) {
        requireWanted(isWanted);
        const { tokens } = await this.encodeTile(padded, { left, top, width: side, height: side });
        for (let patch = 0; patch < grid ** 2; patch++) {
          const row = (top / side) * grid + Math.floor(patch / grid) - kept.top;
          const column = (left / side) * grid + (patch % grid) - kept.left;
          if (row < 0 || row >= kept.height || column < 0 || column >= kept.width) continue;
          rows.set(tokens.subarray(patch * width, (patch + 1) * width), row * rowLength + column * width);
        }
      }
    }
  }

  /** The graph returns the end of a row behind the tokens. */
  private async encodeTile(pixels: RgbPixels, area?: PixelArea): Promise<TileFeatures> {
    const { session, side, grid } = this;
    const planes = this.normalizer.planes(pixels, area);
    const feeds = { pixel_values: session.floats('pixel_values', planes, [1, 3, side, side]) };
    const features = await session.run(feeds, grid ** 2 + 1);
    const width = features.length / (grid ** 2 + 1);
    return { tokens: features.subarray(0, grid ** 2 * width), lineEnd: features.subarray(grid ** 2 * width) };
  }

  private tilesOf(image: Size): Tiles {
    const resolution = bestResolution(image, this.resolutions);
    const patches = this.patchesOf(resolution);
    return { resolution, scaled: fitted(image, resolution), kept: shownPatches(image, patches) };
  }

  private patchesOf({ width, height }: Size): Size {
    return { width: (width / this.side) * this.grid, height: (height / this.side) * this.grid };
  }
}

/** Returns the resolution that keeps most pixels of the image, and of several the one with the least padding. */
function bestResolution({ width, height }: Size, resolutions: readonly Size[]): Size {
  const measured = resolutions.map((resolution) => {
    const scale = Math.min(resolution.width / width, resolution.height / height);
    const scaledPixels = Math.trunc(width * scale) * Math.trunc(height * scale);
    const kept = Math.min(scaledPixels, width * height);
    return { resolution, kept, padding: resolution.width * resolution.height - kept };
  });
  const [first, ...others] = measured;
  if (first === undefined) throw unfit('it has no image_grid_pinpoints');
  return others.reduce((best, other) => {
    const isBetter = other.kept > best.kept || (other.kept === best.kept && other.padding < best.padding);
    return isBetter ? other : best;
  }, first).resolution;
}

/** Returns the size of an image that fills one side of another. */
function fitted(image: Size, into: Size): Size {
  const [across, down] = [into.width / image.width, into.height / image.height];
  return across < down
    ? { width: into.width, height: Math.min(into.height, Math.ceil(image.height * across)) }
    : { width: Math.min(into.width, Math.ceil(image.width * down)), height: into.height };
}

function middle(image: Size, within: Size): { left: number; top: number } {
  return {
    left: Math.floor((within.width - image.width) / 2),
    top: Math.floor((within.height - image.height) / 2),
  };
}

/** Returns the patches that show the image, as the reference finds them by ratios of sides. */
function shownPatches(image: Size, patches: Size): PixelArea {
  const size =
    image.width / image.height > patches.width / patches.height
      ? { width: patches.width, height: wholePart(image.height * (patches.width / image.width)) }
      : { width: wholePart(image.width * (patches.height / image.height)), height: patches.height };
  const { left, top } = middle(size, patches);
  return { left, top, width: patches.width - 2 * left, height: patches.height - 2 * top };
}

/** Drops the fraction, but for errors of rounding. */
function wholePart(value: number): number {
  return Math.trunc(Number(value.toFixed(7)));
}
