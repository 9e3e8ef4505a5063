import { invalidMedia } from '../tools/media-error.js';

/** Sample format of a WAV file. */
export interface WavLayout {
  sampleRate: number;
  channels: number;
  bitsPerSample: number;
  encoding: 'integer' | 'float';
  /** Offset of the samples. */
  dataOffset: number;
  /** Size of the samples: as the header states, but no more than the file holds. */
  dataBytes: number;
}

const knownBits = { integer: [8, 16, 24, 32], float: [32, 64] } as const;

/**
 * Parses the header of a WAV file of `totalBytes` from its first bytes. Returns null if ffmpeg must read it: other
 * encodings (ADPCM, A-law), and samples that begin after `head`. Throws `INVALID_AUDIO_FORMAT` for an inconsistent
 * header.
 */
export function readWavHeader(head: Buffer, totalBytes: number): WavLayout | null {
  let format: Omit<WavLayout, 'dataOffset' | 'dataBytes'> | null = null;
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
      return { ...format, dataOffset: body, dataBytes: sizeOfData(size, Math.max(0, totalBytes - body)) };
    }
    offset = body + size + (size % 2);
  }
  if (offset + 8 <= totalBytes) return null;
  throw damaged();
}

/**
 * Programs that write to a pipe cannot correct the header and state 0 or more than they will ever write; a cut file
 * states more than it holds. Neither says anything about the length: all that follows counts.
 */
function sizeOfData(stated: number, rest: number): number {
  return stated === 0 ? rest : Math.min(stated, rest);
}

function readFormat(chunk: Buffer): Omit<WavLayout, 'dataOffset' | 'dataBytes'> | null {
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

/** Returns the duration of the samples. */
export function wavSeconds({ dataBytes, channels, bitsPerSample, sampleRate }: WavLayout): number {
  return dataBytes / (channels * (bitsPerSample / 8) * sampleRate);
}

export interface WavHeaderOptions {
  sampleRate: number;
  channels: number;
  /** Per channel; null if not known yet. */
  samples: number | null;
  /** Default: 16. */
  bitsPerSample?: 16 | 24;
}

/** Returns a header of integer PCM. */
export function writeWavHeader({ sampleRate, channels, samples, bitsPerSample = 16 }: WavHeaderOptions): Buffer {
  const frameBytes = (channels * bitsPerSample) / 8;
  const dataBytes = samples === null ? 0xffffffff : samples * frameBytes;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(Math.min(dataBytes + 36, 0xffffffff), 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(bitsPerSample, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}

/** Makes a mono WAV file of samples without a header: signed integers, little-endian. A part of a sample is dropped. */
export function wavFromPcm(
  bytes: Buffer,
  { sampleRate, bitsPerSample }: { sampleRate: number; bitsPerSample: 16 | 24 },
): Buffer {
  const samples = Math.floor(bytes.length / (bitsPerSample / 8));
  const header = writeWavHeader({ sampleRate, channels: 1, samples, bitsPerSample });
  return Buffer.concat([header, bytes.subarray(0, samples * (bitsPerSample / 8))]);
}

function damaged(): Error {
  return invalidMedia('recording', 'has a damaged header');
}
