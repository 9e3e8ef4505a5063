import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '#command-line';
import { runRandomSchemas } from '#test/random-schemas';

const dayMs = 86_400_000;

const about = `npm test -- schemas [options]

A tiny model of random weights writes a text for each random schema, and an independent validator reads those that end.
Prints each failure with the seed, and exits with 1 if there is any.`;
const { values } = readCommandLine(about, {
  schemas: { value: 'N', about: 'number of schemas', default: 2_000 },
  seed: { value: 'N', about: 'first seed; default: another every day', isNumber: true },
});
const count = values.schemas;
const seed = values.seed ?? Math.floor(Date.now() / dayMs) * 10_000;

const folder = await mkdtemp(join(tmpdir(), 'schemas-'));
try {
  const { finished, cut, refused, failures } = await runRandomSchemas(folder, { count, seed });
  const counts = `${finished} valid texts, ${cut} at the token limit, ${refused} schemas refused`;
  process.stdout.write(`${count} schemas from seed ${seed}: ${counts}, ${failures.length} failures\n`);
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  process.exitCode = failures.length === 0 && finished > count / 4 ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
