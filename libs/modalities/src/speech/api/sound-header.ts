import type { SpeechFormat } from '../contract/speech.job.js';

/*
 * Sound that is written into a pipe begins before its length is known. Where all of it is there before it is sent, the
 * length is put in, so that players show it.
 */

/** The first bytes of a whole answer with its length where the format has a place for it. */
export function withLength(
  head: Buffer,
  { format, bytes, samples }: { format: SpeechFormat; bytes: number; samples: number },
): Buffer {
  if (format === 'wav') return wavWithLength(head, bytes);
  return format === 'flac' ? flacWithLength(head, samples) : head;
}

const wavHeaderBytes = 44;

function wavWithLength(head: Buffer, bytes: number): Buffer {
  if (head.length < wavHeaderBytes) return head;
  const copy = Buffer.from(head);
  copy.writeUInt32LE(bytes - 8, 4);
  copy.writeUInt32LE(bytes - wavHeaderBytes, 40);
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
