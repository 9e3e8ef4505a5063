import { corruptedImage } from './image-error.js';

/** Content of an image header, read before any decoder runs. */
export interface ImageSketch {
  format: 'png' | 'jpeg' | 'webp' | 'gif';
  /** As stored, before the EXIF orientation. */
  width: number;
  height: number;
  animated: boolean;
}

/**
 * Reads format and size without a decoder. A decoder must not start for a header that announces too much, and decoders
 * of vector graphics, playlists and similar formats must never start. Throws `CORRUPTED_IMAGE`.
 */
export function sniffImage(bytes: Buffer): ImageSketch {
  if (bytes.length === 0) throw corruptedImage('is empty');
  const sketch = readers.reduce<ImageSketch | null>((found, read) => found ?? read(bytes), null);
  if (sketch === null) throw corruptedImage('is of an unknown format; send PNG, JPEG, WebP or GIF');
  if (sketch.width === 0 || sketch.height === 0) throw corruptedImage('has no size');
  return sketch;
}

const readers = [readPng, readJpeg, readWebp, readGif];

const pngMagic = Buffer.from('89504e470d0a1a0a', 'hex');

function readPng(bytes: Buffer): ImageSketch | null {
  if (!bytes.subarray(0, 8).equals(pngMagic)) return null;
  if (bytes.length < 33 || bytes.toString('latin1', 12, 16) !== 'IHDR') throw cutOff();
  return {
    format: 'png',
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
    animated: pngHasChunk(bytes, 'acTL'),
  };
}

/** Searches the chunks before the pixels. */
function pngHasChunk(bytes: Buffer, wanted: string): boolean {
  for (let offset = 8; offset + 8 <= bytes.length;) {
    const name = bytes.toString('latin1', offset + 4, offset + 8);
    if (name === wanted) return true;
    if (name === 'IDAT') return false;
    offset += 12 + bytes.readUInt32BE(offset);
  }
  return false;
}

/** Markers before the frame of a JPEG: profiles, previews and tables are some hundreds of segments at most. */
const maxMarkers = 10_000;

/**
 * Searches the header of the frame as libjpeg does, so that both find the same one: bytes between two segments, which
 * some cameras write, are skipped, and markers without a segment are passed over. Linear in the bytes.
 */
function readJpeg(bytes: Buffer): ImageSketch | null {
  if (bytes.length < 3 || bytes.readUIntBE(0, 3) !== 0xffd8ff) return null;
  let offset = nextMarker(bytes, 2);
  for (let markers = 0; offset + 9 < bytes.length; markers++) {
    const marker = bytes[offset] ?? 0;
    if (isStartOfFrame(marker)) {
      const height = bytes.readUInt16BE(offset + 4);
      return { format: 'jpeg', width: bytes.readUInt16BE(offset + 6), height, animated: false };
    }
    // Another start, an end, or pixels before the header.
    const isOutOfOrder = marker >= 0xd8 && marker <= 0xda;
    if (isOutOfOrder || markers === maxMarkers) throw corruptedImage('is damaged');
    const segmentBytes = hasNoSegment(marker) ? 0 : Math.max(2, bytes.readUInt16BE(offset + 1));
    offset = nextMarker(bytes, offset + 1 + segmentBytes);
  }
  throw cutOff();
}

/** Position of the code of the next marker: the first byte behind `FF` that is not another one. */
function nextMarker(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(0xff, from);
  if (at < 0) return bytes.length;
  while (bytes[at] === 0xff) at += 1;
  return at;
}

/** Whether a marker is a code only. A zero is no code: the `FF` before it was one of the bytes between two segments. */
function hasNoSegment(marker: number): boolean {
  return marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function readWebp(bytes: Buffer): ImageSketch | null {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return null;
  if (bytes.length < 30) throw cutOff();
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') {
    const animated = ((bytes[20] ?? 0) & 0x02) !== 0;
    return { format: 'webp', width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, animated };
  }
  if (kind === 'VP8L') {
    const packed = bytes.readUInt32LE(21);
    return { format: 'webp', width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1, animated: false };
  }
  if (kind !== 'VP8 ') throw corruptedImage('is damaged');
  const width = bytes.readUInt16LE(26) & 0x3fff;
  return { format: 'webp', width, height: bytes.readUInt16LE(28) & 0x3fff, animated: false };
}

function readGif(bytes: Buffer): ImageSketch | null {
  if (!/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return null;
  if (bytes.length < 13) throw cutOff();
  return {
    format: 'gif',
    width: bytes.readUInt16LE(6),
    height: bytes.readUInt16LE(8),
    animated: gifFrames(bytes) > 1,
  };
}

/** Counts frames up to two by skipping over the blocks without decompressing them. */
function gifFrames(bytes: Buffer): number {
  const at = (offset: number): number => bytes[offset] ?? 0;
  const colours = (packed: number): number => ((packed & 0x80) === 0 ? 0 : 3 * 2 ** ((packed & 0x07) + 1));
  const skipBlocks = (start: number): number => {
    let offset = start;
    while (offset < bytes.length && at(offset) !== 0) offset += at(offset) + 1;
    return offset + 1;
  };
  let frames = 0;
  for (let offset = 13 + colours(at(10)); offset < bytes.length && frames < 2;) {
    if (at(offset) === 0x21) {
      offset = skipBlocks(offset + 2);
    } else if (at(offset) === 0x2c) {
      frames += 1;
      offset = skipBlocks(offset + 11 + colours(at(offset + 9)));
    } else {
      break;
    }
  }
  return frames;
}

function cutOff(): Error {
  return corruptedImage('is cut off');
}
