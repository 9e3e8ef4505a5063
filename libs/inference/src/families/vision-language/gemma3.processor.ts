import { inSlices } from '../../images/in-slices.js';
import type { RgbPixels } from '../../images/pixel-grid.js';
import { resample, type ResampleFilter } from '../../images/resample.js';
import type { ImageLayout } from '../../text/index.js';
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

/**
 * Gemma 3: every image is scaled to one square, whatever its shape, and has the same number of tokens. Pan and scan,
 * which adds crops of long images, is off by default and not done here.
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
    this.maxImageTokens = this.tokens + tokensAround;
    this.maxFrameTokens = this.maxImageTokens;
    this.filter = filterOf(preprocessor, 'bilinear');
    this.normalizer = new Normalizer(preprocessor, halfNormals);
  }

  layout(): ImageLayout {
    const { tokens } = this;
    return { tokens, text: `\n\n${begin}${imageToken.repeat(tokens)}${end}\n\n` };
  }

  async encode(pixels: RgbPixels, { tokens }: ImageLayout, isWanted: () => boolean): Promise<Float32Array> {
    const { session, size, filter } = this;
    const scaled = await inSlices(resample(pixels, { ...size, filter }));
    requireWanted(isWanted);
    const planes = this.normalizer.planes(scaled);
    return await session.run(
      { pixel_values: session.floats('pixel_values', planes, [1, 3, size.height, size.width]) },
      tokens,
    );
  }

  async close(): Promise<void> {
    await this.session.close();
  }
}
