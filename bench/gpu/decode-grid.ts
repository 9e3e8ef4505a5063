import type { Decoder, GraphSession } from '#inference';
import { median } from '../report.js';

/** Rows that decode together, each with as many positions before them. */
export interface GridCell {
  streams: number;
  positions: number;
}

export interface CellTimes {
  stepMs: number;
  /** Time of all processors. */
  stepProcessorMs: number;
  /** Bytes of tensors from the host and back, by token; null where everything is on the host. */
  busBytesPerToken: number | null;
}

/** Pieces in which a prompt is read, as the engine does. */
const pieceTokens = 64;
/** Steps before those that are measured: the programs of a shape are compiled, and its memory is bound. */
const firstSteps = 2;

type Row = ReturnType<Decoder['openRow']>;

/** Measures decode steps of a decoder alone. Its rows share a prompt, which is read once and copied. */
export async function measureCell(decoder: Decoder, device: Bus | null, cell: GridCell & Steps): Promise<CellTimes> {
  const prompt = await readPrompt(decoder, cell.positions);
  try {
    return await measureSteps(decoder, prompt, { ...cell, device });
  } finally {
    decoder.release(prompt.kept);
  }
}

type Bus = Pick<NonNullable<GraphSession['device']>, 'bytesIn' | 'bytesOut'>;

interface Steps {
  steps: number;
}

/** A prompt, and a row with its positions, which waits outside of the batch. */
export interface ReadPrompt {
  tokenIds: Int32Array;
  kept: Row;
  /** Time of all processors. */
  processorMs: number;
}

export async function readPrompt(decoder: Decoder, positions: number): Promise<ReadPrompt> {
  const tokenIds = Int32Array.from({ length: positions }, (_, index) => (index * 7_919 + 11) % decoder.vocabularySize);
  const usedMs = processorTimer();
  const row = decoder.openRow();
  await read(decoder, row, tokenIds);
  const processorMs = usedMs();
  return { tokenIds, kept: decoder.retain(row), processorMs };
}

/** Measures decode steps of rows that copy a prompt, or its first positions. */
export async function measureSteps(
  decoder: Decoder,
  { tokenIds, kept }: ReadPrompt,
  { streams, positions, steps, device }: GridCell & Steps & { device: Bus | null },
): Promise<CellTimes> {
  const rows: Row[] = [];
  try {
    for (let stream = 0; stream < streams; stream += 1) {
      const row = decoder.openRow();
      rows.push(row);
      const length = kept.copyableLength(positions - 1);
      decoder.copyPrefix({ from: kept, to: row, length });
      await read(decoder, row, tokenIds.subarray(length, positions));
    }
    const parts = rows.map((row) => ({ row, tokenId: tokenIds[0] ?? 0 }));
    for (let step = 0; step < firstSteps; step += 1) await decoder.decode(parts, 'top');
    const moved = () => (device === null ? null : device.bytesIn + device.bytesOut);
    const before = moved();
    const times: number[] = [];
    const usedMs = processorTimer();
    for (let step = 0; step < steps; step += 1) {
      const start = performance.now();
      await decoder.decode(parts, 'top');
      times.push(performance.now() - start);
    }
    const stepProcessorMs = usedMs() / steps;
    const after = moved();
    const busBytesPerToken = before === null || after === null ? null : (after - before) / (steps * streams);
    return { stepMs: median(times), stepProcessorMs, busBytesPerToken };
  } finally {
    for (const row of rows) decoder.release(row);
  }
}

/** Returns what tells the processor time of this process since then, in ms. */
function processorTimer(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}

/** Reads tokens of a prompt in pieces, or further tokens of a row that decodes. */
export async function read(decoder: Decoder, row: Row, tokenIds: Int32Array, isFurther = false): Promise<void> {
  for (let start = 0; start < tokenIds.length; start += pieceTokens) {
    const piece = tokenIds.slice(start, start + pieceTokens);
    const final = start + piece.length === tokenIds.length;
    if (isFurther) await decoder.extend(row, piece);
    else await decoder.prefill([{ row, tokenIds: piece, final }], final ? 'top' : 'none');
  }
}
