import { crc32, inflateSync } from 'node:zlib';
import { fileFault } from '../files/character-file.js';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum of a chunk. */
const frameBytes = 12;
const maxChunks = 10_000;
/** Longest text of a chunk after decompression, in bytes. */
const maxTextBytes = 8 * 1_048_576;
const longestKeyword = 79;

/** Whether bytes begin as those of a PNG do. */
export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, signature.length).equals(signature);
}

interface Chunk {
  type: string;
  data: Buffer;
}

/**
 * Returns the texts of a PNG under the wanted keywords, from its chunks `tEXt`, `zTXt` and `iTXt`. No pixel is decoded.
 * Sizes and checksums are verified, and a compressed text is unpacked up to a limit. Throws `INVALID_REQUEST` naming the
 * file and the chunk.
 */
export function readPngTexts(bytes: Buffer, keywords: readonly string[], file: string): Map<string, string> {
  const texts = new Map<string, string>();
  for (const chunk of chunksOf(bytes, file)) {
    if (!['tEXt', 'zTXt', 'iTXt'].includes(chunk.type)) continue;
    const end = chunk.data.subarray(0, longestKeyword + 1).indexOf(0);
    if (end < 1) throw fileFault(file, `a chunk ${chunk.type} has no keyword of 1 to ${longestKeyword} bytes`);
    const keyword = chunk.data.toString('latin1', 0, end).toLowerCase();
    if (keywords.includes(keyword)) texts.set(keyword, textOf(chunk, end + 1, `${file}: the chunk ${keyword}`));
  }
  return texts;
}

function* chunksOf(bytes: Buffer, file: string): Generator<Chunk> {
  let at = signature.length;
  for (let count = 0; count < maxChunks; count += 1) {
    if (at + frameBytes > bytes.length) throw fileFault(file, `the PNG ends within a chunk at byte ${at}`);
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (!/^[A-Za-z]{4}$/.test(type)) throw fileFault(file, `there is no PNG chunk at byte ${at}`);
    const next = at + frameBytes + length;
    if (next > bytes.length) throw fileFault(file, `the chunk ${type} at byte ${at} is longer than the file`);
    const checked = bytes.subarray(at + 4, next - 4);
    if (crc32(checked) !== bytes.readUInt32BE(next - 4)) {
      throw fileFault(file, `the checksum of the chunk ${type} at byte ${at} is wrong`);
    }
    if (type === 'IEND') return;
    yield { type, data: checked.subarray(4) };
    at = next;
  }
  throw fileFault(file, `the PNG has more than ${maxChunks} chunks`);
}

function textOf({ type, data }: Chunk, start: number, place: string): string {
  if (type === 'tEXt') return data.toString('latin1', start);
  if (type === 'zTXt') {
    if (data[start] !== 0) throw fileFault(place, 'has an unknown compression');
    return inflated(data.subarray(start + 1), place).toString('latin1');
  }
  const [isCompressed, method] = [data[start], data[start + 1]];
  const language = data.indexOf(0, start + 2);
  const translated = language < 0 ? -1 : data.indexOf(0, language + 1);
  if (translated < 0) throw fileFault(place, 'has no text');
  const text = data.subarray(translated + 1);
  if (isCompressed === 0) return text.toString('utf8');
  if (isCompressed !== 1 || method !== 0) throw fileFault(place, 'has an unknown compression');
  return inflated(text, place).toString('utf8');
}

function inflated(data: Buffer, place: string): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: maxTextBytes });
  } catch (error) {
    const isLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw fileFault(place, isLong ? `unpacks to more than ${maxTextBytes} bytes` : 'is not compressed text');
  }
}
