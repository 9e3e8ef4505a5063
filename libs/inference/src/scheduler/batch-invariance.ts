import type { LogitsBatch } from '../sampling/logits-batch.js';
import type { CacheRow, Decoder } from './decoder.js';

/** Prompt lengths of the rows that are compared. Kernels compute rows in pairs, so an odd number has a last one alone. */
const promptLengths = [3, 2, 4] as const;

/**
 * Whether this processor computes a row to the same bits alone and in a batch, found by decoding one token both ways.
 * Where it does, a greedy or seeded text is the same whatever runs beside it. Where it does not, logits differ in their
 * last bits and a near tie can resolve differently. Kernels of 4-bit weights for one row differ from those for several
 * on processors without VNNI; those of blocks above 32 and of floats differ on all. The decoder must have no rows.
 */
export async function isBatchInvariant(decoder: Decoder): Promise<boolean> {
  const together = await decodeOne(decoder, promptLengths);
  for (const [index, length] of promptLengths.entries()) {
    const [alone] = await decodeOne(decoder, [length]);
    if (alone === undefined || !hasSameBits(alone, together[index])) return false;
  }
  return true;
}

/** Returns all logits of the token after each prompt. The rows are released. */
async function decodeOne(decoder: Decoder, lengths: readonly number[]): Promise<Float32Array[]> {
  const { vocabularySize } = decoder;
  const idAt = (position: number): number => (position * 7_919) % vocabularySize;
  const rows: CacheRow[] = [];
  try {
    for (const length of lengths) {
      const row = decoder.openRow();
      rows.push(row);
      const tokenIds = Int32Array.from({ length }, (_, position) => idAt(position + length));
      await decoder.prefill([{ row, tokenIds, final: true }], 'none');
    }
    const batch = await decoder.decode(
      rows.map((row) => ({ row, tokenId: idAt(11) })),
      'full',
    );
    return rows.map((_, index) => logitsOf(batch, index));
  } finally {
    for (const row of rows) decoder.release(row);
  }
}

/** A copy: the next step frees the batch. */
function logitsOf({ logits, rowIndexes, vocabularySize }: LogitsBatch, index: number): Float32Array {
  const start = (rowIndexes[index] ?? 0) * vocabularySize;
  return (logits ?? new Float32Array(0)).slice(start, start + vocabularySize);
}

function hasSameBits(left: Float32Array, right: Float32Array | undefined): boolean {
  return right !== undefined && Buffer.from(left.buffer).equals(Buffer.from(right.buffer));
}
