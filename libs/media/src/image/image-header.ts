import { readDecoded } from './decoder/read-decoded.js';
import type { ImageHeader, ImageLimits } from './image-limits.js';

/**
 * Returns format and size of an acceptable image from its header alone, so an image bomb costs no more than a small
 * image. Throws `PAYLOAD_TOO_LARGE`, `CORRUPTED_IMAGE` (also for animations and unknown formats), `IMAGE_TOO_SMALL`,
 * `IMAGE_TOO_LARGE`, and `SERVICE_UNAVAILABLE` if this machine can decode nothing.
 */
export async function readImageHeader(bytes: Buffer, limits: ImageLimits = {}): Promise<ImageHeader> {
  const { format, width, height, hasAlpha } = await readDecoded(bytes, null, limits);
  return { format, width, height, hasAlpha };
}
