/** A decoded image: rows from the top, 8 bits per sample, channels interleaved, sRGB. */
export interface Pixels {
  width: number;
  height: number;
  /** 1 gray, 3 RGB, 4 RGB and alpha (not premultiplied). */
  channels: 1 | 3 | 4;
  /** `width * height * channels` bytes. */
  data: Uint8Array;
}

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export const imageContentTypes: Record<ImageFormat, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};
