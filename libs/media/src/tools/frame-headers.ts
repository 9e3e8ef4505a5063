/** Header of one frame of a stream that has no other: MPEG audio (`mp3`, also of layers I and II) or ADTS (`aac`). */
export interface FrameHeader {
  container: 'mp3' | 'aac';
  /** Length of the frame. */
  bytes: number;
  /** Length of its sound. */
  seconds: number;
  /** Equal in all frames of one stream: version, layer and sample rate. */
  form: string;
}

/** Bytes of the longest header, and of the longest frame. */
export const maxFrameHeaderBytes = 7;
export const maxFrameBytes = 8_191;

/** kbit/s by layer, for the indices 1 to 14. */
const bitRates = {
  first: {
    1: [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    2: [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    3: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  },
  later: {
    1: [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    3: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  },
} as const;
const mpegRates = [44_100, 48_000, 32_000];
const adtsRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** Returns the header at `offset`; null if there is none or it is cut. */
export function readFrameHeader(bytes: Buffer, offset: number): FrameHeader | null {
  if (bytes[offset] !== 0xff) return null;
  const second = bytes[offset + 1] ?? 0;
  if ((second & 0xf6) === 0xf0) return readAdtsHeader(bytes, offset);
  return (second & 0xe0) === 0xe0 ? readMpegHeader(bytes, offset) : null;
}

function readMpegHeader(bytes: Buffer, offset: number): FrameHeader | null {
  const [second = 0, third = 0] = [bytes[offset + 1], bytes[offset + 2]];
  if (offset + 4 > bytes.length) return null;
  const version = (second >> 3) & 3;
  const layer = 4 - ((second >> 1) & 3);
  const rate = mpegRates[(third >> 2) & 3];
  // Version 1 is reserved, and so are layer 4, rate 3 and bit rate 15; 0 is a free bit rate, which nobody writes.
  if (version === 1 || layer === 4 || rate === undefined) return null;
  const isFirst = version === 3;
  const kilobits = bitRates[isFirst ? 'first' : 'later'][layer as 1 | 2 | 3][(third >> 4) - 1];
  if (kilobits === undefined) return null;
  const sampleRate = rate / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1_152;
  const padding = (third >> 1) & 1;
  const slots = layer === 1 ? 4 : 1;
  const length = (Math.floor((samples * kilobits * 125) / (sampleRate * slots)) + padding) * slots;
  return { container: 'mp3', bytes: length, seconds: samples / sampleRate, form: `${version}.${layer}.${sampleRate}` };
}

function readAdtsHeader(bytes: Buffer, offset: number): FrameHeader | null {
  if (offset + maxFrameHeaderBytes > bytes.length) return null;
  const at = (index: number): number => bytes[offset + index] ?? 0;
  const sampleRate = adtsRates[(at(2) >> 2) & 15];
  const length = ((at(3) & 3) << 11) | (at(4) << 3) | (at(5) >> 5);
  if (sampleRate === undefined || length < maxFrameHeaderBytes) return null;
  const samples = 1_024 * ((at(6) & 3) + 1);
  return { container: 'aac', bytes: length, seconds: samples / sampleRate, form: `adts.${sampleRate}` };
}

/** Returns the header at `offset` if one of the same form follows its frame. */
export function readConfirmedHeader(bytes: Buffer, offset: number): FrameHeader | null {
  const header = readFrameHeader(bytes, offset);
  if (header === null) return null;
  return readFrameHeader(bytes, offset + header.bytes)?.form === header.form ? header : null;
}

/** Returns the offset of the first of two consecutive frames; -1 without. */
export function findFrames(bytes: Buffer): number {
  for (let offset = bytes.indexOf(0xff); offset >= 0; offset = bytes.indexOf(0xff, offset + 1)) {
    if (readConfirmedHeader(bytes, offset) !== null) return offset;
  }
  return -1;
}
