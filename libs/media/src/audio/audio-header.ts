import type { AudioFormat } from './audio-format.js';

/*
 * Sound that is written into a pipe begins before its length is known. Where all of it is there before it is sent, the
 * length is put in, so that players show it and editors open all of it.
 */

/** Bytes at the beginning of a file that `withSoundLength` changes at most. */
export const audioHeadBytes = 64;

/** What a format without a place for its length cannot say. */
export function saysItsLength(format: AudioFormat): boolean {
  return format === 'wav' || format === 'flac';
}

/** The first bytes of a whole sound, of `bytes` and of `samples` a channel, with its length where its format has a place for it. */
export function withAudioLength(
  head: Buffer,
  { format, bytes, samples }: { format: AudioFormat; bytes: number; samples: number },
): Buffer {
  if (format === 'wav') return wavWithLength(head, bytes);
  return format === 'flac' ? flacWithLength(head, samples) : head;
}

const wavHeaderBytes = 44;
/** What the field of a length holds; players take it for a length that nobody knows. */
const maxWavBytes = 0xffffffff;

function wavWithLength(head: Buffer, bytes: number): Buffer {
  if (head.length < wavHeaderBytes) return head;
  const copy = Buffer.from(head);
  copy.writeUInt32LE(Math.min(maxWavBytes, bytes - 8), 4);
  copy.writeUInt32LE(Math.min(maxWavBytes, bytes - wavHeaderBytes), 40);
  return copy;
}

/** Where STREAMINFO, the first block of a FLAC file, counts the samples: the low 36 bits of these eight bytes. */
const flacCount = { start: 18, end: 26, bits: 36n };

function flacWithLength(head: Buffer, samples: number): Buffer {
  if (head.length < flacCount.end || head.toString('latin1', 0, 4) !== 'fLaC') return head;
  const copy = Buffer.from(head);
  const kept = (copy.readBigUInt64BE(flacCount.start) >> flacCount.bits) << flacCount.bits;
  copy.writeBigUInt64BE(kept | BigInt(samples), flacCount.start);
  return copy;
}
