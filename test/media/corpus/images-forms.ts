import sharp, { type Sharp } from 'sharp';
import type { FrameSize } from '#media';

/*
 * Images in forms that cameras, browsers and programs write and that differ from what an encoder here would write. Made
 * when they are needed: each is a small image with one peculiarity.
 */

export interface ImageForm extends FrameSize {
  name: string;
  bytes: Buffer;
  /** Whether any pixel is not opaque. */
  isTransparent: boolean;
  /** Name of the form that has the same pixels; null for none. */
  same: string | null;
}

const size = { width: 40, height: 24 };

function gradient(channels: 3 | 4, alphaAt: (pixel: number) => number = () => 255): Sharp {
  const data = Uint8Array.from({ length: size.width * size.height * channels }, (_, at) => {
    const [pixel, channel] = [Math.floor(at / channels), at % channels];
    return channel === 3 ? alphaAt(pixel) : (pixel * (channel + 3)) % 251;
  });
  return sharp(data, { raw: { ...size, channels } });
}

/** Every form, the plain ones first. */
export async function imageForms(): Promise<ImageForm[]> {
  const jpeg = withJfif(await gradient(3).jpeg({ quality: 90 }).toBuffer());
  const opaque = { ...size, isTransparent: false };
  const clear = { ...size, isTransparent: true };
  const sticker = () => gradient(4, (pixel) => (pixel % size.width < 10 ? 0 : pixel % size.width < 20 ? 140 : 255));
  const speck = () => gradient(4, (pixel) => (pixel === 77 ? 254 : 255));
  return [
    { name: 'jpeg', bytes: jpeg, ...opaque, same: null },
    ...jpegPeculiarities(jpeg).map(([name, bytes]) => ({ name: `jpeg with ${name}`, bytes, ...opaque, same: 'jpeg' })),
    { name: 'png', bytes: await gradient(3).png().toBuffer(), ...opaque, same: null },
    { name: 'png with an opaque alpha channel', bytes: await gradient(4).png().toBuffer(), ...opaque, same: 'png' },
    { name: 'transparent png', bytes: await sticker().png().toBuffer(), ...clear, same: null },
    {
      name: 'transparent webp',
      bytes: await sticker().webp({ lossless: true, exact: true }).toBuffer(),
      ...clear,
      same: 'transparent png',
    },
    {
      name: 'png with one pixel that is hardly transparent',
      bytes: await speck().png().toBuffer(),
      ...clear,
      same: null,
    },
    {
      name: 'lossless webp with an opaque alpha channel',
      bytes: await gradient(4).webp({ lossless: true }).toBuffer(),
      ...opaque,
      same: 'png',
    },
  ];
}

/** Cameras and programs begin with this segment, the encoder here with the tables. */
function withJfif(jpeg: Buffer): Buffer {
  const segment = Buffer.from('ffe000104a46494600010100000100010000', 'hex');
  return Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]);
}

/** The same JPEG with bytes that libjpeg passes over, at the places where files have them. */
function jpegPeculiarities(jpeg: Buffer): [string, Buffer][] {
  const before = (marker: number, ...bytes: number[]): Buffer => {
    const at = segmentOf(jpeg, marker);
    return Buffer.concat([jpeg.subarray(0, at), Buffer.from(bytes), jpeg.subarray(at)]);
  };
  const [tables, frame, end] = [0xdb, 0xc0, 0xd9];
  const zeros = (length: number): number[] => Array.from({ length }, () => 0);
  return [
    ['zeros before the tables', before(tables, ...zeros(4))],
    ['zeros before the frame', before(frame, ...zeros(18))],
    ['text before the frame', before(frame, ...Buffer.from('camera 7'))],
    ['a kilobyte before the frame', before(frame, ...zeros(1_024))],
    ['fill bytes', before(tables, 0xff, 0xff, 0xff)],
    ['stuffed bytes', before(frame, 0xff, 0x00, 0xff, 0x00)],
    ['a temporary marker', before(tables, 0xff, 0x01)],
    ['restart markers before the frame', before(frame, 0xff, 0xd0, 0xff, 0xd7)],
    ['zeros before its end', before(end, ...zeros(4))],
    ['bytes behind its end', Buffer.concat([jpeg, Buffer.from('motion photo')])],
  ];
}

/** Position of the first segment with a marker, or of the last such bytes for the end. */
function segmentOf(jpeg: Buffer, marker: number): number {
  if (marker === 0xd9) return jpeg.length - 2;
  for (let at = 2; at + 4 < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) if (jpeg[at + 1] === marker) return at;
  throw new Error(`the image has no segment ${marker.toString(16)}`);
}

/** The spellings of a data URL that clients send for the same bytes. */
export function dataUrlForms(bytes: Buffer): Record<string, string> {
  const base64 = bytes.toString('base64');
  return {
    plain: `data:image/png;base64,${base64}`,
    'percent-encoded': `data:image/png;base64,${encodeURIComponent(base64)}`,
    wrapped: `data:image/png;base64,${base64.replaceAll(/.{76}/g, '$&\r\n')}`,
    'wrapped and percent-encoded': `data:image/png;base64,${encodeURIComponent(base64.replaceAll(/.{76}/g, '$&\r\n'))}`,
    'with the alphabet of URLs': `data:image/png;base64,${bytes.toString('base64url')}`,
    'upper case': `DATA:IMAGE/PNG;BASE64,${base64}`,
    'with a character set': `data:image/png;charset=utf-8;base64,${base64}`,
    'with codecs, as browsers record': `data:video/webm;codecs=vp8,opus;base64,${base64}`,
    'without a type': `data:;base64,${base64}`,
  };
}
