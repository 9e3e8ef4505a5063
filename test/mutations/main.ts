import { readCommandLine } from '#command-line';
import { Corpus } from './corpus.js';
import { type Format, formatNames, formats, readerKinds } from './formats.js';
import { MutatedReader, type ReadEnd } from './mutated-reader.js';
import { runMutations } from './run-mutations.js';

const dayMs = 86_400_000;
const progressMs = 10_000;

const about = `npm test -- mutations [options]

Mutated files of every format through the decoders of the platform. A crash of the reading process, an error that blames
the platform and a reading without an end are failures; each is printed with its seed, and the command exits with 1.
--format F --seed S --files 1 repeats one.`;
const { values } = readCommandLine(about, {
  files: { value: 'N', about: 'files of each format', default: 10_000 },
  format: { value: 'NAME', about: 'only this format; may be repeated', isRepeated: true, default: formatNames },
  reader: {
    value: 'KIND',
    about: 'only formats of this reader; may be repeated',
    isRepeated: true,
    default: readerKinds,
  },
  seed: { value: 'N', about: 'first seed; default: another every day', isNumber: true },
  show: { about: 'print the reason of each refusal' },
  parallel: { value: 'N', about: 'reading processes', default: 2 },
});
const { files } = values;
const seed = values.seed ?? Math.floor(Date.now() / dayMs) * files;
refuseUnknown('format', values.format, formatNames);
refuseUnknown('reader', values.reader, readerKinds);
const chosen = (values.format as Format[]).filter((name) => values.reader.includes(formats[name].reader));

function refuseUnknown(option: string, words: readonly string[], known: readonly string[]): void {
  const unknown = words.filter((word) => !known.includes(word));
  if (unknown.length === 0) return;
  process.stderr.write(`Unknown ${option} ${unknown.join(', ')}; expected ${known.join(', ')}.\n`);
  process.exit(2);
}

/** Returns whether nothing failed. */
async function report(format: Format, corpus: Corpus, readers: readonly MutatedReader[]): Promise<boolean> {
  let shownAt = performance.now();
  const onFile = (done: number, { seed: own, end }: { seed: number; end: ReadEnd }): void => {
    if (values.show && end.end === 'refused') process.stdout.write(`${format} ${own}: ${end.detail}\n`);
    if (performance.now() - shownAt < progressMs) return;
    shownAt = performance.now();
    process.stderr.write(`${format}: ${done} of ${files}\n`);
  };
  const { ends, failures, longestMs } = await runMutations({ format, files, seed, corpus, readers, onFile });
  const counts = Object.entries(ends).map(([end, count]) => `${count} ${end}`);
  process.stdout.write(`${format}: ${counts.join(', ')}; longest ${Math.round(longestMs)} ms; from seed ${seed}\n`);
  for (const { seed: own, end, detail } of failures) {
    process.stdout.write(`  --format ${format} --seed ${own} --files 1: ${end}: ${detail}\n`);
  }
  return failures.length === 0;
}

const corpus = await Corpus.open();
const readers = Array.from({ length: values.parallel }, () => new MutatedReader());
try {
  for (const format of chosen) {
    if (!(await report(format, corpus, readers))) process.exitCode = 1;
  }
} finally {
  for (const reader of readers) reader.close();
  await corpus.remove();
}
