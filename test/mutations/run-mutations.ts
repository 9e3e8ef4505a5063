import { mutate } from '#test/mutated-bytes';
import { seededRandom } from '#test/seeded-random';
import type { Corpus } from './corpus.js';
import type { Format } from './formats.js';
import { checksummed } from './checksums.js';
import type { MutatedReader, ReadEnd } from './mutated-reader.js';
import { changesStructure, changeStructure } from './structures.js';

export interface MutationRun {
  format: Format;
  /** Mutated files. */
  files: number;
  /** Seed of the first file; each file has the next one. */
  seed: number;
  corpus: Corpus;
  /** Reading processes, each for one file at a time. */
  readers: readonly MutatedReader[];
  onFile?: (done: number, file: { seed: number; end: ReadEnd }) => void;
}

export interface MutationFailure extends ReadEnd {
  seed: number;
}

export interface MutationResult {
  ends: Record<ReadEnd['end'], number>;
  /** Crashes, and errors that blame the platform. */
  failures: MutationFailure[];
  longestMs: number;
}

/** Reads mutated files of one format, and the valid one first. */
export async function runMutations({
  format,
  files,
  seed,
  corpus,
  readers,
  onFile,
}: MutationRun): Promise<MutationResult> {
  const result: MutationResult = {
    ends: { read: 0, refused: 0, late: 0, broken: 0, crashed: 0 },
    failures: [],
    longestMs: 0,
  };
  const original = await corpus.file(format);
  const valid = await readers[0]?.read({ format, bytes: original, corpus: corpus.folder });
  if (valid?.end !== 'read') throw new Error(`the valid ${format} file cannot be read: ${valid?.detail}`);
  let next = 0;
  const readAll = async (reader: MutatedReader): Promise<void> => {
    while (next < files) {
      const own = seed + next;
      next += 1;
      const startedAt = performance.now();
      const end = await reader.read({ format, bytes: mutated(format, original, own), corpus: corpus.folder });
      result.longestMs = Math.max(result.longestMs, performance.now() - startedAt);
      result.ends[end.end] += 1;
      if (end.end === 'broken' || end.end === 'crashed') result.failures.push({ ...end, seed: own });
      onFile?.(next, { seed: own, end });
    }
  };
  await Promise.all(readers.map(readAll));
  return result;
}

/** Every other file is changed where its decoder looks, and most of those in what they say. */
function mutated(format: Format, original: Buffer, seed: number): Buffer {
  const random = seededRandom(seed);
  if (seed % 2 === 0) return mutate(original, random);
  if (changesStructure(format) && seed % 8 !== 1) return changeStructure(format, original, random);
  return checksummed(format, original, (bytes) => mutate(bytes, random));
}
