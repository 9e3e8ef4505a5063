import { joinFloats } from '#common/values';
import type { PromptImage } from '../../contract/text-generation.js';
import { inSlices } from '../../images/in-slices.js';
import { croppedTo, type PixelArea, type RgbPixels } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
import { cropsOf, type PanAndScan, panAndScanOf } from './pan-and-scan.js';
import { filterOf, halfNormals, Normalizer, sideOf, unfit } from './preprocessor-config.js';
import { imageTokenOf, type ProcessorFiles, requireWanted, type VisionProcessor } from './vision-processor.js';
import type { VisionSession } from './vision-session.js';

const imageToken = '<image_soft_token>';
const begin = '<start_of_image>';
const end = '<end_of_image>';
const defaultSide = 896;
const defaultTokens = 256;
/** Beginning, end and the line breaks on either side, which may be one token or two. */
const tokensAround = 6;

/** The words of transformers in front of an image with crops, and between it and them. */
const beforeImage = 'Here is the original image ';
const beforeCrops = ' and here are some crops to help you see better ';

interface SquaresLayout extends ImageLayout {
  /** Parts that follow the whole image. */
  crops: readonly PixelArea[];
}

/**
 * Gemma 3: every image is scaled to one square, whatever its shape, and has the same number of tokens. With pan and
 * scan, which is off by default, long images are followed by crops, each a square of its own; frames of videos are not.
 *
 * Source: `Gemma3ImageProcessor` and `Gemma3Processor` of transformers 5.23.
 */
export class Gemma3Processor implements VisionProcessor {
  readonly placeholder = begin;
  readonly hasRotaryGrid = false;
  readonly imageTokenId: number;
  readonly maxImageTokens: number;
  readonly maxFrameTokens: number;
  private readonly session: VisionSession;
  private readonly tokens: number;
  private readonly size: { width: number; height: number };
  private readonly filter: ResampleFilter;
  private readonly normalizer: Normalizer;
  private readonly panAndScan: PanAndScan | null;

  constructor(files: ProcessorFiles) {
    const { preprocessor, config, session } = files;
    this.session = session;
    this.imageTokenId = imageTokenOf(files, imageToken);
    const { image_size: side = defaultSide, tokens } = config.vision_config ?? {};
    this.size = {
      width: sideOf(preprocessor.size, 'width') ?? side,
      height: sideOf(preprocessor.size, 'height') ?? side,
    };
    if (this.size.width !== side || this.size.height !== side) {
      throw unfit(`its preprocessor_config.json makes images of another size than its encoder takes, which is ${side}`);
    }
    this.tokens = tokens ?? preprocessor.image_seq_length ?? defaultTokens;
    this.panAndScan = panAndScanOf(preprocessor);
    const maxCrops = this.panAndScan?.maxCrops ?? 0;
    this.maxFrameTokens = this.tokens + tokensAround;
    // A character takes at most one token.
    const words = maxCrops === 0 ? 0 : beforeImage.length + beforeCrops.length + maxCrops - 1;
    this.maxImageTokens = (1 + maxCrops) * this.maxFrameTokens + words;
    this.filter = filterOf(preprocessor, 'bilinear');
    this.normalizer = new Normalizer(preprocessor, halfNormals);
  }

  layout({ pixels, isFrame = false }: Pick<PromptImage, 'pixels' | 'isFrame'>): SquaresLayout {
    const crops = this.panAndScan === null || isFrame ? [] : cropsOf(pixels, this.panAndScan);
    const square = `\n\n${begin}${imageToken.repeat(this.tokens)}${end}\n\n`;
    const tokens = (1 + crops.length) * this.tokens;
    if (crops.length === 0) return { tokens, text: square, crops };
    return { tokens, text: beforeImage + square + beforeCrops + crops.map(() => square).join(' '), crops };
  }

  async encode(pixels: RgbPixels, { crops }: SquaresLayout, isWanted: () => boolean): Promise<Float32Array> {
    const squares = [await this.encodeSquare(pixels, isWanted)];
    for (const area of crops) squares.push(await this.encodeSquare(croppedTo(pixels, area), isWanted));
    return joinFloats(squares);
  }

  private async encodeSquare(pixels: RgbPixels, isWanted: () => boolean): Promise<Float32Array> {
    const { session, size, filter } = this;
    const scaled = await inSlices(resample(pixels, { ...size, filter }));
    requireWanted(isWanted);
    const planes = this.normalizer.planes(scaled);
    return await session.run(
      { pixel_values: session.floats('pixel_values', planes, [1, 3, size.height, size.width]) },
      this.tokens,
    );
  }

  async close(): Promise<void> {
    await this.session.close();
  }
}
