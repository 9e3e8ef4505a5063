import type { RunShape } from '#model-memory';

/** Members of `unet/config.json` that decide its memory. Absent ones have the defaults of diffusers. */
export interface UnetShape {
  block_out_channels?: number[];
  down_block_types?: string[];
  layers_per_block?: number;
  /** Despite its name the number of heads, of all levels or of each. */
  attention_head_dim?: number | number[];
  num_attention_heads?: number | number[] | null;
}

/** The same of `vae_decoder/config.json`. */
export interface AutoencoderShape {
  block_out_channels?: number[];
}

const bytesPerValue = 4;
const defaultChannels = [320, 640, 1_280, 1_280];
const defaultDecoderChannels = [128, 256, 512, 512];
const defaultHeads = 8;
/** Scores and their softmax. */
const scoreCopies = 2;
/** Heads that compare the frames of a video at every latent, before the first level; fixed in diffusers. */
const frameHeads = 8;
/** Maps of a level that are alive at once, besides the skip connections: input, output, and a reordered copy. */
const mapCopies = 3;
/** The feed-forward layer behind an attention is eight times as wide as its input, and a half of it is a copy. */
const feedForward = 12;
/** Sessions, prompt and schedule. */
const fixedBytes = 48 * 2 ** 20;
/** Pixels of an image in its stages from samples to bytes. */
const bytesPerResult = 64;

/** Returns how the memory of a latent diffusion grows: one row of the denoiser, and one image of the decoder. */
export function diffusionShape(unet: UnetShape, decoder: AutoencoderShape, latentStride: number): RunShape {
  const latent = denoiserShape(unet);
  // One head compares all latents in the middle of the decoder.
  const scores = Math.max(latent.bytesPerPixelPair, scoreCopies * bytesPerValue);
  return {
    fixedBytes,
    bytesPerPixel: Math.max(latent.bytesPerPixel / latentStride ** 2, decoderBytes(decoder)) + bytesPerResult,
    bytesPerPixelPair: scores / latentStride ** 4,
  };
}

/** The same of a video, whose frames are denoised together and attend to each other. */
export function videoShape(unet: UnetShape, decoder: AutoencoderShape, latentStride: number): RunShape {
  const bytesPerPixelFramePair = (scoreCopies * frameHeads * bytesPerValue) / latentStride ** 2;
  return { ...diffusionShape(unet, decoder, latentStride), bytesPerPixelFramePair };
}

/** Per latent, not per pixel. Each level has a quarter of the positions of the level above. */
function denoiserShape(unet: UnetShape): Omit<RunShape, 'fixedBytes'> {
  const {
    block_out_channels: channels = defaultChannels,
    layers_per_block: layers = 2,
    down_block_types: types,
  } = unet;
  const heads = unet.num_attention_heads ?? unet.attention_head_dim ?? defaultHeads;
  const levels = channels.map((width, level) => {
    const share = 1 / 4 ** level;
    const isAttentive = types === undefined ? level < channels.length - 1 : /attn/i.test(types[level] ?? '');
    const headsHere = Array.isArray(heads) ? (heads[level] ?? defaultHeads) : heads;
    const next = channels[level + 1] ?? width;
    return {
      skipped: (layers + 1) * width * share,
      working: (mapCopies * (width + next) + (isAttentive ? feedForward * width : 0)) * share,
      scores: isAttentive ? scoreCopies * headsHere * share ** 2 : 0,
    };
  });
  const skipped = levels.reduce((sum, level) => sum + level.skipped, 0);
  const working = Math.max(...levels.map((level) => level.working));
  const scores = Math.max(...levels.map((level) => level.scores));
  return { bytesPerPixel: (skipped + working) * bytesPerValue, bytesPerPixelPair: scores * bytesPerValue };
}

/** Per pixel. The last level works at full size, with the channels of the level before it. */
function decoderBytes({ block_out_channels: channels = defaultDecoderChannels }: AutoencoderShape): number {
  const [first = 1, second = first] = channels;
  return mapCopies * Math.max(first, second) * bytesPerValue;
}
