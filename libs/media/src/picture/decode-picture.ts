import { PlatformError } from '#common';
import { corruptedPicture } from './picture-error.js';
import { defaultMaxPixels, type PictureLimits, readPictureHeader } from './picture-header.js';
import type { Pixels } from './pixels.js';
import { sharp, type Sharp } from './sharp-settings.js';

export interface DecodeOptions extends PictureLimits {
  /** 1 grey, 3 RGB over white, 4 RGB and alpha. */
  channels: 1 | 3 | 4;
}

/**
 * Decodes a picture after its header has passed `readPictureHeader`: upright (EXIF orientation applied), 8-bit sRGB.
 * Throws what that throws, and `CORRUPTED_IMAGE` for a picture that ends early.
 */
export async function decodePicture(bytes: Buffer, options: DecodeOptions): Promise<Pixels> {
  await readPictureHeader(bytes, options);
  const { channels, maxPixels = defaultMaxPixels, param = null } = options;
  try {
    // `failOn`: a truncated picture must not become a half grey one.
    const upright = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'truncated' }).autoOrient();
    const { data, info } = await inChannels(upright, channels).raw().toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    if (info.channels !== channels) throw new PlatformError('CORRUPTED_IMAGE', 'The picture has no usable colours.');
    return { width, height, channels, data };
  } catch (error) {
    throw corruptedPicture('is damaged or cut off', param, error);
  }
}

function inChannels(picture: Sharp, channels: 1 | 3 | 4): Sharp {
  if (channels === 4) return picture.toColourspace('srgb').ensureAlpha();
  const opaque = picture.flatten({ background: '#ffffff' });
  return channels === 1 ? opaque.toColourspace('b-w') : opaque.toColourspace('srgb');
}
