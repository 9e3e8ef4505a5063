import { readCommandLine } from '#command-line';
import { Corpus } from './corpus.js';
import { type Format, formatNames } from './formats.js';
import { MutatedReader } from './mutated-reader.js';
import { runMutations } from './run-mutations.js';

const dayMs = 86_400_000;
const progressMs = 10_000;

const about = `npm run test:mutations [-- options]

Mutated files of every format through the decoders of the platform. A crash of the reading process, an error that blames
the platform and a reading without an end are failures; each is printed with its seed, and the command exits with 1.
--format F --seed S --files 1 repeats one.`;
const { values } = readCommandLine(about, {
  files: { value: 'N', about: 'files of each format', default: 10_000 },
  format: { value: 'NAME', about: 'only this format; may be repeated', isRepeated: true, default: formatNames },
  seed: { value: 'N', about: 'first seed; default: another every day', isNumber: true },
  parallel: { value: 'N', about: 'reading processes', default: 2 },
});
const { files } = values;
const seed = values.seed ?? Math.floor(Date.now() / dayMs) * files;
const unknown = values.format.filter((name) => !formatNames.includes(name as Format));
if (unknown.length > 0) {
  process.stderr.write(`Unknown format ${unknown.join(', ')}; expected ${formatNames.join(', ')}.\n`);
  process.exit(2);
}

/** Returns whether nothing failed. */
async function report(format: Format, corpus: Corpus, readers: readonly MutatedReader[]): Promise<boolean> {
  let shownAt = performance.now();
  const onFile = (done: number): void => {
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
  for (const format of values.format as Format[]) {
    if (!(await report(format, corpus, readers))) process.exitCode = 1;
  }
} finally {
  for (const reader of readers) reader.close();
  await corpus.remove();
}
