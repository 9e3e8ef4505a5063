import type { AudioFormat } from './audio-format.js';

/*
 * Audio written to a pipe starts before its length is known. When all of it is available before it is sent, the length
 * is filled in, so that players show it and editors open all of it.
 */

/** Maximum number of leading bytes that `withAudioLength` changes. */
export const audioHeadBytes = 64;

/** Header value for an unknown length. */
export function saysItsLength(format: AudioFormat): boolean {
  return format === 'wav' || format === 'flac';
}

/**
 * Returns the first bytes of complete audio of `bytes` and of `samples` per channel, with its length filled in where
 * the format has a field for it.
 */
export function withAudioLength(
  head: Buffer,
  { format, bytes, samples }: { format: AudioFormat; bytes: number; samples: number },
): Buffer {
  if (format === 'wav') return wavWithLength(head, bytes);
  return format === 'flac' ? flacWithLength(head, samples) : head;
}

const wavHeaderBytes = 44;
/** Maximum of a length field; players treat it as unknown. */
const maxWavBytes = 0xffffffff;

function wavWithLength(head: Buffer, bytes: number): Buffer {
  if (head.length < wavHeaderBytes) return head;
  const copy = Buffer.from(head);
  copy.writeUInt32LE(Math.min(maxWavBytes, bytes - 8), 4);
  copy.writeUInt32LE(Math.min(maxWavBytes, bytes - wavHeaderBytes), 40);
  return copy;
}

/** Offset of the sample count in STREAMINFO, the first block of a FLAC file: the low 36 bits of these eight bytes. */
const flacCount = { start: 18, end: 26, bits: 36n };

function flacWithLength(head: Buffer, samples: number): Buffer {
  if (head.length < flacCount.end || head.toString('latin1', 0, 4) !== 'fLaC') return head;
  const copy = Buffer.from(head);
  const otherBits = (copy.readBigUInt64BE(flacCount.start) >> flacCount.bits) << flacCount.bits;
  copy.writeBigUInt64BE(otherBits | BigInt(samples), flacCount.start);
  return copy;
}
