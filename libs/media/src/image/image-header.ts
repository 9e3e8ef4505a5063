import { readDecoded } from './decoder/read-decoded.js';
import type { ImageHeader, ImageLimits } from './image-limits.js';

/**
 * Returns format and size of an acceptable image from its header alone, so an image bomb costs no more than a small
 * image. Throws `PAYLOAD_TOO_LARGE`, `CORRUPTED_IMAGE` (also for animations and unknown formats), `IMAGE_TOO_SMALL`,
 * `IMAGE_TOO_LARGE`, and `SERVICE_UNAVAILABLE` if this machine can decode nothing.
 */
export async function readImageHeader(bytes: Buffer, limits: ImageLimits = {}): Promise<ImageHeader> {
  const { format, width, height, hasAlpha } = await readDecoded(bytes, { channels: null }, limits);
  return { format, width, height, hasAlpha };
}

/**
 * Whether any pixel of an image is not opaque. Many programs write an alpha channel into opaque images, so an image that
 * has one is decoded. Throws as `decodeImage` does.
 */
export async function isTransparentImage(bytes: Buffer, limits: ImageLimits = {}): Promise<boolean> {
  return (await readDecoded(bytes, { channels: null, findsTransparency: true }, limits)).hasAlpha;
}
