import { joinFloats } from '#common/values';
import type { PromptImage } from '../../contract/text-generation.js';
import { inSlices } from '../../images/in-slices.js';
import type { PixelArea, RgbPixels } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
import { filterOf, halfNormals, Normalizer, sideOf } from './preprocessor-config.js';
import { imageTokenOf, type ProcessorFiles, requireWanted, type VisionProcessor } from './vision-processor.js';
import type { VisionSession } from './vision-session.js';

interface Size {
  width: number;
  height: number;
}

interface TiledLayout extends ImageLayout {
  /** Size that the image is first scaled to; its longest edge is fixed. */
  scaled: Size;
  /** Size of all tiles together. */
  tiled: Size;
  /** 0 for an image that is one tile alone. */
  rows: number;
  columns: number;
}

const defaultLongestEdge = 4 * 364;
const defaultTileSide = 364;
const defaultTileTokens = 169;
const maxSide = 4_096;

const around = '<fake_token_around_image>';
const whole = '<global-img>';

/** Input of most exports: which pixels are no padding. */
const mask = 'pixel_attention_mask';

/**
 * Idefics3 and SmolVLM: an image is scaled to a fixed longest edge, stretched to whole tiles and cut into them; a last
 * tile shows all of it. Each tile has the same number of tokens.
 *
 * Source: `Idefics3ImageProcessor` and `Idefics3Processor` of transformers 4.57.
 */
export class Idefics3Processor implements VisionProcessor {
  readonly placeholder = '<image>';
  readonly hasRotaryGrid = false;
  readonly imageTokenId: number;
  readonly maxImageTokens: number;
  readonly maxFrameTokens: number;
  private readonly session: VisionSession;
  private readonly longestEdge: number;
  private readonly tileSide: number;
  private readonly tileTokens: number;
  private readonly splits: boolean;
  private readonly filter: ResampleFilter;
  private readonly normalizer: Normalizer;

  constructor(files: ProcessorFiles) {
    const { preprocessor, config, session } = files;
    this.session = session;
    this.imageTokenId = imageTokenOf(files, this.placeholder);
    this.longestEdge = sideOf(preprocessor.size, 'longest_edge') ?? defaultLongestEdge;
    this.tileSide = preprocessor.max_image_size?.['longest_edge'] ?? defaultTileSide;
    this.tileTokens = preprocessor.image_seq_len ?? tokensOfTile(config) ?? defaultTileTokens;
    this.splits = preprocessor.do_image_splitting ?? true;
    this.filter = filterOf(preprocessor, 'lanczos');
    this.normalizer = new Normalizer(preprocessor, halfNormals);
    const tiles = this.splits ? Math.ceil(Math.min(this.longestEdge, maxSide) / this.tileSide) : 0;
    // Around each tile two tokens, after each row and the last one a line break, around the whole three.
    this.maxFrameTokens = this.tileTokens + 3;
    this.maxImageTokens = tiles * tiles * (this.tileTokens + 2) + tiles + 1 + this.tileTokens + 3;
  }

  layout({ pixels, isFrame = false }: Pick<PromptImage, 'pixels' | 'isFrame'>): TiledLayout {
    const scaled = scaledSize(pixels, this.longestEdge);
    const side = this.tileSide;
    const tiled = this.splits && !isFrame ? tiledSize(scaled, side) : { width: side, height: side };
    const isSplit = tiled.width > side || tiled.height > side;
    const rows = isSplit ? tiled.height / side : 0;
    const columns = isSplit ? tiled.width / side : 0;
    return {
      scaled,
      tiled,
      rows,
      columns,
      tokens: (rows * columns + 1) * this.tileTokens,
      text: this.text(rows, columns),
    };
  }

  async encode(pixels: RgbPixels, layout: TiledLayout, isWanted: () => boolean): Promise<Float32Array> {
    const { filter, tileSide: side } = this;
    const scaled = await inSlices(resample(pixels, { ...layout.scaled, filter }));
    requireWanted(isWanted);
    const tiled = await inSlices(resample(scaled, { ...layout.tiled, filter }));
    const parts: Float32Array[] = [];
    for (const area of areasOf(layout, side)) {
      requireWanted(isWanted);
      parts.push(await this.encodeTile(this.normalizer.planes(tiled, area)));
    }
    const last = layout.rows === 0 ? tiled : await inSlices(resample(tiled, { width: side, height: side, filter }));
    requireWanted(isWanted);
    parts.push(await this.encodeTile(this.normalizer.planes(last)));
    return joinFloats(parts);
  }

  private async encodeTile(planes: Float32Array): Promise<Float32Array> {
    const { session, tileSide: side } = this;
    const feeds = { pixel_values: session.floats('pixel_values', planes, [1, 1, 3, side, side]) };
    if (!session.inputNames.includes(mask)) return await session.run(feeds, this.tileTokens);
    return await session.run({ ...feeds, [mask]: session.ones(mask, [1, 1, side, side]) }, this.tileTokens);
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  private text(rows: number, columns: number): string {
    const tokens = this.placeholder.repeat(this.tileTokens);
    if (rows === 0) return `${around}${whole}${tokens}${around}`;
    let text = '';
    for (let row = 1; row <= rows; row++) {
      for (let column = 1; column <= columns; column++) text += `${around}<row_${row}_col_${column}>${tokens}`;
      text += '\n';
    }
    return `${text}\n${around}${whole}${tokens}${around}`;
  }
}

function tokensOfTile({ vision_config: vision, scale_factor: factor }: ProcessorFiles['config']): number | undefined {
  const { image_size: side, patch_size: patch } = vision ?? {};
  if (side === undefined || patch === undefined || factor === undefined) return undefined;
  return Math.floor(Math.floor(side / patch) ** 2 / factor ** 2);
}

/** The shorter edge is rounded down and made even. */
function scaledSize({ width, height }: Size, longestEdge: number): Size {
  const ratio = width / height;
  const even = (side: number): number => Math.max(1, side + (side % 2));
  const scaled =
    width >= height
      ? { width: longestEdge, height: even(Math.trunc(longestEdge / ratio)) }
      : { width: even(Math.trunc(longestEdge * ratio)), height: longestEdge };
  return withinLargest(scaled);
}

function withinLargest(size: Size): Size {
  const { width, height } = size;
  const ratio = width / height;
  if (Math.max(width, height) <= maxSide) return size;
  return width >= height
    ? { width: maxSide, height: Math.max(1, Math.trunc(maxSide / ratio)) }
    : { width: Math.max(1, Math.trunc(maxSide * ratio)), height: maxSide };
}

/** The longer edge is stretched to whole tiles first, then the other one by the ratio. */
function tiledSize({ width, height }: Size, side: number): Size {
  const ratio = width / height;
  const whole = (length: number): number => Math.ceil(length / side) * side;
  if (width >= height) return { width: whole(width), height: whole(Math.trunc(whole(width) / ratio)) };
  return { width: whole(Math.trunc(whole(height) * ratio)), height: whole(height) };
}

function* areasOf({ rows, columns }: TiledLayout, side: number): Generator<PixelArea> {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      yield { left: column * side, top: row * side, width: side, height: side };
    }
  }
}
