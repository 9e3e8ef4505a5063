import { readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import {
  blurPixels,
  decodeImage,
  encodeImage,
  ImageDecoder,
  type Pixels,
  readImageHeader,
  resizePixels,
} from '../index.js';
import { cropPixels, overlayPixels } from './edit-pixels.js';

function gradient(width: number, height: number, channels: 1 | 3 | 4): Pixels {
  const data = new Uint8Array(width * height * channels);
  for (let index = 0; index < data.length; index += 1) data[index] = (index * 7) % 251;
  return { width, height, channels, data };
}

const raw = { width: 40, height: 20, channels: 3 } as const;
const source = () => sharp(gradient(40, 20, 3).data, { raw });

/** Where a pixel of an upright image is in a stored one of 40 by 20 pixels, by EXIF's orientation. */
function storedPlace(orientation: number, x: number, y: number): [column: number, row: number] {
  const [right, bottom] = [39, 19];
  const places: [number, number][] = [
    [x, y],
    [right - x, y],
    [right - x, bottom - y],
    [x, bottom - y],
    [y, x],
    [y, bottom - x],
    [right - y, bottom - x],
    [right - y, x],
  ];
  return places[orientation - 1] ?? [x, y];
}

/** PNG with only a header, and too few pixels. */
function hollowPng(width: number, height: number): Buffer {
  const chunk = (name: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(data.length);
    head.write(name, 4, 'latin1');
    return Buffer.concat([head, data, Buffer.alloc(4)]);
  };
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  size.set([8, 2, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc(100));
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', size), chunk('IDAT', pixels)]);
}

describe('images', () => {
  it('survive a PNG round trip', async () => {
    for (const channels of [1, 3, 4] as const) {
      const pixels = gradient(37, 21, channels);
      const decoded = await decodeImage(await encodeImage(pixels, { format: 'png' }), { channels });
      expect(decoded).toMatchObject({ width: 37, height: 21, channels });
      expect(Buffer.from(decoded.data).equals(Buffer.from(pixels.data))).toBe(true);
    }
  });

  it.each(['jpeg', 'webp'] as const)('are written as %s', async (format) => {
    const bytes = await encodeImage(gradient(64, 64, 4), { format });
    expect(await readImageHeader(bytes)).toMatchObject({ format });
    expect(await decodeImage(bytes, { channels: 3 })).toMatchObject({ width: 64, height: 64, channels: 3 });
  });

  it('include metadata only on request', async () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const silent = await encodeImage(gradient(8, 8, 3), { format });
      expect(silent.includes('Exif') || silent.includes('eXIf')).toBe(false);
      const exif = { ImageDescription: 'a boat at sea', Software: 'sluice' };
      const telling = await encodeImage(gradient(8, 8, 3), { format, exif });
      expect(telling.includes('a boat at sea')).toBe(true);
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('are upright whatever their orientation (%i)', async (orientation) => {
    const bytes = await source().png().withMetadata({ orientation }).toBuffer();
    const [width, height] = orientation < 5 ? [40, 20] : [20, 40];
    expect(await readImageHeader(bytes)).toMatchObject({ width, height });
    const upright = await decodeImage(bytes, { channels: 3 });
    expect(upright).toMatchObject({ width, height });
    const stored = gradient(40, 20, 3).data;
    const expected = Buffer.alloc(stored.length);
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const [column, row] = storedPlace(orientation, x, y);
        expected.set(stored.subarray((row * 40 + column) * 3).subarray(0, 3), (y * width + x) * 3);
      }
    }
    expect(Buffer.from(upright.data).equals(expected)).toBe(true);
  });

  it('are decoded from every color space as 8 bits of sRGB', async () => {
    const grey = sharp(gradient(40, 20, 1).data, { raw: { ...raw, channels: 1 } });
    const kinds: [string, Promise<Buffer>][] = [
      ['16 bits', source().toColourspace('rgb16').png().toBuffer()],
      ['a palette', source().png({ palette: true }).toBuffer()],
      ['CMYK', source().toColourspace('cmyk').jpeg().toBuffer()],
      ['grey', grey.toColourspace('b-w').png().toBuffer()],
      ['a still GIF', source().gif().toBuffer()],
      ['progressive', source().jpeg({ progressive: true }).toBuffer()],
      ['lossless WebP', source().webp({ lossless: true }).toBuffer()],
    ];
    for (const [kind, bytes] of kinds) {
      for (const channels of [1, 3, 4] as const) {
        const { data, ...shape } = await decodeImage(await bytes, { channels });
        expect(shape, kind).toEqual({ width: 40, height: 20, channels });
        expect(data, kind).toHaveLength(800 * channels);
      }
    }
  });

  it('get a white background if they are transparent and alpha is not requested', async () => {
    const clear = await sharp({ create: { ...raw, channels: 4, background: '#00000000' } })
      .png()
      .toBuffer();
    const { data } = await decodeImage(clear, { channels: 3 });
    expect([...new Set(data)]).toEqual([255]);
    expect(await readImageHeader(clear)).toMatchObject({ hasAlpha: true });
  });

  const isTransparentImage = async (bytes: Buffer) =>
    (await readImageHeader(bytes, { findsTransparency: true })).hasAlpha;

  it('are transparent if a pixel is, not by having an alpha channel', async () => {
    const opaque = gradient(40, 20, 4);
    opaque.data.forEach((_, at) => at % 4 === 3 && (opaque.data[at] = 255));
    const speck = { ...opaque, data: new Uint8Array(opaque.data) };
    speck.data[4 * 417 + 3] = 254;
    for (const format of ['png', 'webp'] as const) {
      const [whole, pierced] = await Promise.all(
        [opaque, speck].map((pixels) => encodeImage(pixels, { format, lossless: true })),
      );
      expect(await isTransparentImage(whole ?? Buffer.alloc(0)), format).toBe(false);
      expect(await isTransparentImage(pierced ?? Buffer.alloc(0)), format).toBe(true);
    }
    const deep = await sharp(opaque.data, { raw: { ...raw, channels: 4 } })
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    expect(await isTransparentImage(deep)).toBe(false);
    expect(await isTransparentImage(await source().jpeg().toBuffer())).toBe(false);
    const cut = (await encodeImage(speck, { format: 'png' })).subarray(0, 200);
    await expect(isTransparentImage(cut)).rejects.toMatchObject({ code: 'CORRUPTED_IMAGE' });
  });

  it('are resized, cropped, blurred and drawn over', async () => {
    const pixels = gradient(40, 20, 4);
    for (const fit of ['fill', 'cover', 'contain'] as const) {
      expect(await resizePixels(pixels, { width: 10, height: 10, fit })).toMatchObject({
        width: 10,
        height: 10,
        channels: 4,
      });
    }
    expect(await resizePixels(gradient(40, 20, 1), { width: 10, height: 10, fit: 'inside' })).toMatchObject({
      width: 10,
      height: 5,
      channels: 1,
    });
    const cropped = await cropPixels(pixels, { left: 1, top: 2, width: 3, height: 4 });
    expect([...cropped.data.subarray(0, 12)]).toEqual([...pixels.data.subarray((2 * 40 + 1) * 4, (2 * 40 + 4) * 4)]);
    expect((await blurPixels(pixels, 2)).data).not.toEqual(pixels.data);
    const red: Pixels = { width: 2, height: 2, channels: 4, data: new Uint8Array(16).fill(255) };
    const over = await overlayPixels(gradient(40, 20, 3), red, { left: 5, top: 5 });
    expect([...over.data.subarray((5 * 40 + 5) * 3, (5 * 40 + 5) * 3 + 3)]).toEqual([255, 255, 255]);
  });
});

describe('client images', () => {
  const corrupted = { code: 'CORRUPTED_IMAGE', param: 'image' };
  const limits = { param: 'image' } as const;

  it('are limited in bytes, pixels and sides by their header', async () => {
    const bytes = await source().png().toBuffer();
    const read = (more: object) => readImageHeader(bytes, { ...limits, ...more });
    expect(await read({ minPixels: 800, maxPixels: 800, minSide: 20, maxBytes: bytes.length })).toEqual({
      format: 'png',
      width: 40,
      height: 20,
      hasAlpha: false,
    });
    await expect(read({ maxBytes: bytes.length - 1 })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    await expect(read({ maxPixels: 799 })).rejects.toMatchObject({ code: 'IMAGE_TOO_LARGE', param: 'image' });
    await expect(read({ minPixels: 801 })).rejects.toMatchObject({ code: 'IMAGE_TOO_SMALL' });
    await expect(read({ minSide: 21 })).rejects.toMatchObject({ code: 'IMAGE_TOO_SMALL' });
  });

  it('are rejected before decoding if they are bombs', async () => {
    for (const [width, height] of [
      [50_000, 50_000],
      [4_294_967_295, 4_294_967_295],
      [16_777_217, 1],
    ] as const) {
      const error: unknown = await decodeImage(hollowPng(width, height), { channels: 3 }).catch((reason) => reason);
      expect(error).toMatchObject({ code: 'IMAGE_TOO_LARGE' });
    }
    await expect(decodeImage(hollowPng(0, 10), { channels: 3, ...limits })).rejects.toMatchObject(corrupted);
  });

  it('are rejected if they are animated', async () => {
    const frames = { raw: { width: 40, height: 40, channels: 3 as const, pageHeight: 20 } };
    const video = () => sharp(gradient(40, 40, 3).data, frames);
    const moving = [await video().gif().toBuffer(), await video().webp().toBuffer()];
    const apng = await source().png().toBuffer();
    const control = Buffer.alloc(20);
    control.writeUInt32BE(8);
    control.write('acTL', 4, 'latin1');
    moving.push(Buffer.concat([apng.subarray(0, 33), control, apng.subarray(33)]));
    for (const bytes of moving) {
      await expect(readImageHeader(bytes, limits)).rejects.toMatchObject({
        ...corrupted,
        message: 'The image is animated; send a still one.',
      });
    }
  });

  it('are rejected if they have another format', async () => {
    const others: (Buffer | string)[] = [
      '',
      'text',
      '<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
      '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>',
      '%PDF-1.4',
      await source().tiff().toBuffer(),
      await source().avif().toBuffer(),
      Buffer.from('1f8b08', 'hex'),
      Buffer.alloc(1_000),
      await readFile(new URL(import.meta.url)),
    ];
    for (const bytes of others) {
      await expect(decodeImage(Buffer.from(bytes as string), { channels: 3, ...limits })).rejects.toMatchObject(
        corrupted,
      );
    }
  });

  it('are rejected, never half decoded, if they are truncated or damaged', async () => {
    const whole = [source().png(), source().jpeg(), source().webp(), source().gif()];
    for (const image of whole) {
      const bytes = await image.toBuffer();
      for (const part of [0.1, 0.5, 0.8]) {
        const cut = bytes.subarray(0, Math.floor(bytes.length * part));
        await expect(decodeImage(cut, { channels: 3, ...limits })).rejects.toMatchObject(corrupted);
      }
    }
  });

  it('are decoded in the decoder alone: this process has no loader', async () => {
    for (const image of [source().png(), source().jpeg(), source().webp(), source().gif()]) {
      await expect(sharp(await image.toBuffer()).metadata()).rejects.toThrow('unsupported image format');
    }
  });

  it('are named in errors if they end the decoder', async () => {
    const bytes = await source().png().toBuffer();
    await readImageHeader(bytes, limits);
    const pid = ImageDecoder.shared.processIds.at(-1);
    process.kill(pid ?? 0, 'SIGSTOP');
    const failed = readImageHeader(bytes, limits).catch((error: unknown) => error);
    process.kill(pid ?? 0, 'SIGSEGV');
    process.kill(pid ?? 0, 'SIGCONT');
    expect(await failed).toMatchObject({ ...corrupted, message: 'The image is damaged or cut off.' });
    expect(await readImageHeader(bytes, limits)).toMatchObject({ width: 40, height: 20 });
  });

  it('fail with our own errors for any bytes', async () => {
    const unauthenticatedClients: unknown[] = [];
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const images = await Promise.all(
      [source().png(), source().jpeg(), source().webp(), source().gif()].map((each) => each.toBuffer()),
    );
    for (let round = 0; round < 400; round += 1) {
      const bytes = Buffer.from(images[round % 4] ?? []);
      for (let change = 0; change <= random(4); change += 1) bytes[random(Math.min(bytes.length, 100))] = random(256);
      const result: unknown = await decodeImage(
        bytes.subarray(0, random(2) === 0 ? bytes.length : random(bytes.length)),
        {
          channels: 3,
          maxPixels: 1_000_000,
        },
      ).catch((error: unknown) => error);
      if (result instanceof Error && !(result instanceof PlatformError)) unauthenticatedClients.push(result);
    }
    expect(unauthenticatedClients).toEqual([]);
  });
});
