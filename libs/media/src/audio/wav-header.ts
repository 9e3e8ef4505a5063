import { invalidMedia } from '../tools/media-error.js';

/** How the samples of a WAV file are written. */
export interface WavLayout {
  sampleRate: number;
  channels: number;
  bitsPerSample: number;
  encoding: 'integer' | 'float';
  /** Where the samples begin. */
  dataOffset: number;
  /** Bytes of samples as the header claims them; null where it was written before its end was known. */
  claimedBytes: number | null;
}

const knownBits = { integer: [8, 16, 24, 32], float: [32, 64] } as const;

/** The sizes next to 2 GB, which recorders write into a pipe; no file that we are given is as large. */
const openSizes = { min: 0x7fff0000, max: 0x80000000 };

/**
 * Reads the header of a WAV file of `totalBytes` by hand from its first bytes. Null where ffmpeg is to read it: encodings
 * of other kinds (ADPCM, A-law), and samples that begin behind `head`. Throws `INVALID_AUDIO_FORMAT` for a header that
 * makes no sense.
 */
export function readWavHeader(head: Buffer, totalBytes: number): WavLayout | null {
  let format: Omit<WavLayout, 'dataOffset' | 'claimedBytes'> | null = null;
  let offset = 12;
  while (offset + 8 <= head.length) {
    const name = head.toString('latin1', offset, offset + 4);
    const size = head.readUInt32LE(offset + 4);
    const body = offset + 8;
    if (name === 'fmt ') {
      if (size < 16 || body + size > totalBytes) throw damaged();
      if (body + size > head.length) return null;
      format = readFormat(head.subarray(body, body + size));
      if (format === null) return null;
    }
    if (name === 'data') {
      if (format === null) throw damaged();
      return { ...format, dataOffset: body, claimedBytes: isOpenSize(size) ? null : size };
    }
    offset = body + size + (size % 2);
  }
  if (offset + 8 <= totalBytes) return null;
  throw damaged();
}

/** What programs write that do not know the size and cannot come back to write it; RF64 keeps it elsewhere. */
function isOpenSize(size: number): boolean {
  return size === 0 || size >= 0xfffffff0 || (size >= openSizes.min && size <= openSizes.max);
}

function readFormat(chunk: Buffer): Omit<WavLayout, 'dataOffset' | 'claimedBytes'> | null {
  const tag = chunk.readUInt16LE(0);
  const isExtensible = tag === 0xfffe && chunk.length >= 26;
  const kind = isExtensible ? chunk.readUInt16LE(24) : tag;
  const encoding = kind === 1 ? 'integer' : kind === 3 ? 'float' : null;
  if (encoding === null) return null;
  const channels = chunk.readUInt16LE(2);
  const sampleRate = chunk.readUInt32LE(4);
  const bitsPerSample = chunk.readUInt16LE(14);
  if (channels < 1 || channels > 32 || sampleRate < 1_000 || sampleRate > 768_000) throw damaged();
  if (!(knownBits[encoding] as readonly number[]).includes(bitsPerSample)) return null;
  return { sampleRate, channels, bitsPerSample, encoding };
}

/** How long the file plays, by the samples that are there, and how long its header says; the same where it does not say. */
export function wavSeconds(layout: WavLayout, totalBytes: number): { seconds: number; claimedSeconds: number } {
  const { claimedBytes, dataOffset, channels, bitsPerSample, sampleRate } = layout;
  const there = Math.max(0, totalBytes - dataOffset);
  const bytesPerSecond = channels * (bitsPerSample / 8) * sampleRate;
  const claimed = claimedBytes ?? there;
  return { seconds: Math.min(claimed, there) / bytesPerSecond, claimedSeconds: claimed / bytesPerSecond };
}

/** The header of 16-bit PCM. `samples` per channel; null where they are not known yet. */
export function writeWavHeader(options: { sampleRate: number; channels: number; samples: number | null }): Buffer {
  const { sampleRate, channels, samples } = options;
  const dataBytes = samples === null ? 0xffffffff : samples * channels * 2;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(dataBytes + 36, 0xffffffff), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

function damaged(): Error {
  return invalidMedia('recording', 'has a damaged header');
}
