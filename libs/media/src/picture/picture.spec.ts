import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { blurPixels, cropPixels, decodePicture, encodePicture, type Pixels, resizePixels } from '../index.js';

function gradient(width: number, height: number, channels: 1 | 3 | 4): Pixels {
  const data = new Uint8Array(width * height * channels);
  for (let index = 0; index < data.length; index += 1) data[index] = (index * 7) % 251;
  return { width, height, channels, data };
}

describe('pictures', () => {
  it('come back from PNG as they went in', async () => {
    for (const channels of [1, 3, 4] as const) {
      const pixels = gradient(37, 21, channels);
      const png = await encodePicture(pixels, { format: 'png' });
      expect(await decodePicture(png, { channels })).toEqual({ ...pixels, data: expect.anything() });
      const { data } = await decodePicture(png, { channels });
      expect(Buffer.compare(Buffer.from(data), Buffer.from(pixels.data))).toBe(0);
    }
  });

  it.each(['jpeg', 'webp'] as const)('are written as %s', async (format) => {
    const bytes = await encodePicture(gradient(64, 64, 4), { format });
    expect((await sharp(bytes).metadata()).format).toBe(format);
    expect(await decodePicture(bytes, { channels: 3 })).toMatchObject({ width: 64, height: 64, channels: 3 });
  });

  it('stand upright', async () => {
    const bytes = await sharp(gradient(40, 20, 3).data, { raw: { width: 40, height: 20, channels: 3 } })
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toBuffer();
    expect(await decodePicture(bytes, { channels: 3 })).toMatchObject({ width: 20, height: 40 });
  });

  it('are resized, cropped and blurred', async () => {
    const pixels = gradient(40, 20, 4);
    expect(await resizePixels(pixels, { width: 10, height: 10 })).toMatchObject({ width: 10, height: 10, channels: 4 });
    expect(await resizePixels(gradient(40, 20, 1), { width: 10, height: 10 })).toMatchObject({ channels: 1 });
    expect(await cropPixels(pixels, { left: 1, top: 2, width: 3, height: 4 })).toMatchObject({ width: 3, height: 4 });
    expect((await blurPixels(pixels, 2)).data).not.toEqual(pixels.data);
  });
});
