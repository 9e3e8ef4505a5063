import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PlatformError } from '#common';

/** Content of a model's `metadata.json`. */
export interface TinyTtsMetadata {
  languageId: number;
  /** Added to every tone, because the tones of all languages share one table. */
  toneOffset: number;
  sampleRate: number;
  /** Ids of symbols. */
  symbols: ReadonlyMap<string, number>;
  /** Ids of speakers by lower-case name. */
  speakers: ReadonlyMap<string, number>;
}

/** Rejects with `INVALID_MODEL` if the file is missing or incomplete. */
export async function loadTinyTtsMetadata(directory: string): Promise<TinyTtsMetadata> {
  try {
    const stored = JSON.parse(await readFile(join(directory, 'metadata.json'), 'utf8')) as Record<string, unknown>;
    const speakers = Object.entries(stored.spk2id as Record<string, number>);
    return {
      languageId: numberOf(stored, 'language_id'),
      toneOffset: numberOf(stored, 'tone_offset'),
      sampleRate: numberOf(stored, 'sample_rate'),
      symbols: new Map((stored.symbols as string[]).map((symbol, id) => [symbol, id])),
      speakers: new Map(speakers.map(([name, id]) => [name.toLowerCase(), id])),
    };
  } catch (error) {
    throw new PlatformError('INVALID_MODEL', 'The metadata of this model cannot be read.', null, { cause: error });
  }
}

function numberOf(stored: Record<string, unknown>, name: string): number {
  const value = stored[name];
  if (typeof value !== 'number') throw new TypeError(`${name} is missing`);
  return value;
}
