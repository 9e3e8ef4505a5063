import { readDecoded } from './decoder/read-decoded.js';
import type { ImageLimits } from './image-limits.js';
import type { Pixels } from './pixels.js';

export interface DecodeOptions extends ImageLimits {
  /** 1 gray, 3 RGB over white, 4 RGB and alpha. */
  channels: 1 | 3 | 4;
}

/**
 * Decodes an image whose header `readImageHeader` accepts: upright (EXIF orientation applied), 8-bit sRGB. Throws the
 * same errors, and `CORRUPTED_IMAGE` for a truncated image.
 */
export async function decodeImage(bytes: Buffer, { channels, ...limits }: DecodeOptions): Promise<Pixels> {
  const { width, height, data } = await readDecoded(bytes, { channels }, limits);
  return { width, height, channels, data };
}
