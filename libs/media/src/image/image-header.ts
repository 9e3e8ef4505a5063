import { readDecoded } from './decoder/read-decoded.js';
import type { ImageHeader, ImageLimits } from './image-limits.js';

export interface HeaderOptions extends ImageLimits {
  /**
   * Whether `hasAlpha` says that a pixel is not opaque. Many programs write an alpha channel into opaque images, so an
   * image that has one is then decoded. Default false: it says that there is an alpha channel.
   */
  findsTransparency?: boolean;
}

/**
 * Returns format and size of an acceptable image from its header alone, so an image bomb costs no more than a small
 * image. Throws `PAYLOAD_TOO_LARGE`, `CORRUPTED_IMAGE` (also for animations and unknown formats), `IMAGE_TOO_SMALL`,
 * `IMAGE_TOO_LARGE`, and `SERVICE_UNAVAILABLE` if this machine can decode nothing.
 */
export async function readImageHeader(
  bytes: Buffer,
  { findsTransparency, ...limits }: HeaderOptions = {},
): Promise<ImageHeader> {
  const { format, width, height, hasAlpha } = await readDecoded(bytes, { channels: null, findsTransparency }, limits);
  return { format, width, height, hasAlpha };
}
