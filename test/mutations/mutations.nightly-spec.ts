import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Corpus } from './corpus.js';
import { type Format, formatNames, formats } from './formats.js';
import { MutatedReader } from './mutated-reader.js';
import { runMutations } from './run-mutations.js';

/* The quick form of `npm test -- mutations`. */

/** Files of a format that is read in the process itself, of a model that is also loaded, and of one with a process per file. */
const files = { own: 20, added: 8, child: 1 };
const withChild: readonly string[] = ['audio', 'video', 'document'];
/** Formats whose readers others cover. */
const nightly: readonly Format[] = [
  ...(['wav-alaw', 'aiff', 'opus', 'aac', 'mpeg', 'mpegts', 'pptx', 'csv'] as const),
  ...(['hub-index', 'hub-tokenizer', 'hub-tokenizer-config', 'hub-template', 'lora-settings'] as const),
];

describe('a mutated file', () => {
  const readers = [new MutatedReader(), new MutatedReader()];
  let corpus: Corpus;

  beforeAll(async () => {
    corpus = await Corpus.open();
  });
  afterAll(async () => {
    for (const reader of readers) reader.close();
    await corpus.remove();
  });

  it.each(formatNames.filter((name) => !nightly.includes(name)))(
    '%s is read, or refused with a reason',
    async (format) => {
      const { reader } = formats[format];
      const count = withChild.includes(reader) ? files.child : reader === 'added' ? files.added : files.own;
      const { ends, failures } = await runMutations({ format, files: count, seed: 101, corpus, readers });
      expect(failures).toEqual([]);
      expect(ends.read + ends.refused + ends.late).toBe(count);
    },
  );
});
