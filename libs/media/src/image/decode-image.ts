import { PlatformError } from '#common';
import { corruptedImage } from './image-error.js';
import { defaultMaxPixels, type ImageLimits, readImageHeader } from './image-header.js';
import type { Pixels } from './pixels.js';
import { sharp, type Sharp } from './sharp-settings.js';

export interface DecodeOptions extends ImageLimits {
  /** 1 grey, 3 RGB over white, 4 RGB and alpha. */
  channels: 1 | 3 | 4;
}

/**
 * Decodes an image after `readImageHeader` accepted its header: upright (EXIF orientation applied), 8-bit sRGB. Throws
 * the same errors, and `CORRUPTED_IMAGE` for a truncated image.
 */
export async function decodeImage(bytes: Buffer, options: DecodeOptions): Promise<Pixels> {
  await readImageHeader(bytes, options);
  const { channels, maxPixels = defaultMaxPixels, param = null } = options;
  try {
    // `failOn`: a truncated image must not be decoded to a half grey one.
    const upright = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'truncated' }).autoOrient();
    const { data, info } = await inChannels(upright, channels).raw().toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    if (info.channels !== channels) throw new PlatformError('CORRUPTED_IMAGE', 'The image has no usable colours.');
    return { width, height, channels, data };
  } catch (error) {
    throw corruptedImage('is damaged or cut off', param, error);
  }
}

function inChannels(image: Sharp, channels: 1 | 3 | 4): Sharp {
  if (channels === 4) return image.toColourspace('srgb').ensureAlpha();
  const opaque = image.flatten({ background: '#ffffff' });
  return channels === 1 ? opaque.toColourspace('b-w') : opaque.toColourspace('srgb');
}
