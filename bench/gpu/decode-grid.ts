import type { Decoder, GraphSession } from '#inference';
import { median } from '../report.js';

/** Rows that decode together, each with as many positions before them. */
export interface GridCell {
  streams: number;
  positions: number;
}

export interface CellTimes {
  stepMs: number;
  /** Bytes of tensors from the host and back, by token; null where everything is on the host. */
  busBytesPerToken: number | null;
}

/** Pieces in which a prompt is read, as the engine does. */
const pieceTokens = 64;
/** Steps before those that are measured: the programs of a shape are compiled, and its memory is bound. */
const firstSteps = 2;

type Row = ReturnType<Decoder['openRow']>;

/** Measures decode steps of a decoder alone. Its rows share a prompt, which is read once and copied. */
export async function measureCell(
  decoder: Decoder,
  device: Pick<NonNullable<GraphSession['device']>, 'bytesIn' | 'bytesOut'> | null,
  { streams, positions, steps }: GridCell & { steps: number },
): Promise<CellTimes> {
  const prompt = Int32Array.from({ length: positions }, (_, index) => (index * 7_919 + 11) % decoder.vocabularySize);
  const rows = [decoder.openRow()];
  try {
    // The others copy the first one, while it waits outside of the batch.
    await read(decoder, rows[0] as Row, prompt);
    const kept = (rows[0] = decoder.retain(rows[0] as Row));
    for (let stream = 0; stream < streams; stream += 1) {
      const row = decoder.openRow();
      rows.push(row);
      const length = kept.copyableLength(positions - 1);
      decoder.copyPrefix({ from: kept, to: row, length });
      await read(decoder, row, prompt.subarray(length));
    }
    decoder.release(rows.shift() as Row);
    const parts = rows.map((row) => ({ row, tokenId: prompt[0] ?? 0 }));
    for (let step = 0; step < firstSteps; step += 1) await decoder.decode(parts, 'top');
    const moved = () => (device === null ? null : device.bytesIn + device.bytesOut);
    const before = moved();
    const times: number[] = [];
    for (let step = 0; step < steps; step += 1) {
      const start = performance.now();
      await decoder.decode(parts, 'top');
      times.push(performance.now() - start);
    }
    const after = moved();
    const busBytesPerToken = before === null || after === null ? null : (after - before) / (steps * streams);
    return { stepMs: median(times), busBytesPerToken };
  } finally {
    for (const row of rows) decoder.release(row);
  }
}

async function read(decoder: Decoder, row: Row, tokenIds: Int32Array): Promise<void> {
  for (let start = 0; start < tokenIds.length; start += pieceTokens) {
    const piece = tokenIds.slice(start, start + pieceTokens);
    const final = start + piece.length === tokenIds.length;
    await decoder.prefill([{ row, tokenIds: piece, final }], final ? 'top' : 'none');
  }
}
