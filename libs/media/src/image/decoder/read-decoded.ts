import { PlatformError } from '#common';
import { checkSketch, defaultMaxPixels } from '../check-sketch.js';
import { corruptedImage } from '../image-error.js';
import type { ImageHeader, ImageLimits } from '../image-limits.js';
import { DecodeFault, DecoderLost } from './decoder-process.js';
import type { DecodeTask } from './decoder-protocol.js';
import { ImageDecoder } from './image-decoder.js';

/** Checks the header of an image here, and reads header and pixels in the decoder. Throws as `readImageHeader` does. */
export async function readDecoded(
  bytes: Buffer,
  { channels, findsTransparency }: Pick<DecodeTask, 'channels' | 'findsTransparency'>,
  limits: ImageLimits,
): Promise<ImageHeader & { data: Buffer }> {
  const { param = null, maxPixels = defaultMaxPixels, owner } = limits;
  try {
    const { format, width: storedWidth, height: storedHeight } = checkSketch(bytes, limits);
    const request = { channels, findsTransparency, maxPixels, storedWidth, storedHeight, owner };
    const { width, height, hasAlpha, data } = await ImageDecoder.shared.decode(bytes, request);
    return { format, width, height, hasAlpha, data };
  } catch (error) {
    throw explained(error, param);
  }
}

function explained(error: unknown, param: string | null): PlatformError {
  if (error instanceof PlatformError) return new PlatformError(error.code, error.message, param);
  if (error instanceof DecodeFault) return corruptedImage(error.message, param);
  if (!(error instanceof DecoderLost)) return corruptedImage('is damaged', param, error);
  const message = 'Images cannot be read at the moment.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
}
