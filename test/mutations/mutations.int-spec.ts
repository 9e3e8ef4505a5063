import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Corpus } from './corpus.js';
import { type Format, formatNames, formats } from './formats.js';
import { MutatedReader } from './mutated-reader.js';
import { runMutations } from './run-mutations.js';

/* The quick form of `npm run test:mutations`. */

/** Files of a format that is read in the process itself, and of one with a process per file. */
const files = { own: 20, child: 1 };
const withChild: readonly string[] = ['audio', 'video', 'document'];
/** Formats whose readers others cover. */
const nightly: readonly Format[] = ['wav-alaw', 'aiff', 'opus', 'aac', 'mpeg', 'mpegts', 'pptx', 'csv'];

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
      const count = withChild.includes(formats[format].reader) ? files.child : files.own;
      const { ends, failures } = await runMutations({ format, files: count, seed: 101, corpus, readers });
      expect(failures).toEqual([]);
      expect(ends.read + ends.refused + ends.late).toBe(count);
    },
  );
});
