import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runRandomSchemas } from '#test/random-schemas';

/*
 * `npm run test:schemas [-- --schemas N] [--seed N]`: a tiny model of random weights writes a text for each of 2,000
 * random schemas, others every day, and an independent validator reads those that end. Prints each failure with the
 * seed, and exits with 1 if there is any.
 */
const dayMs = 86_400_000;

const { values } = parseArgs({ options: { schemas: { type: 'string' }, seed: { type: 'string' } } });
const count = Number(values.schemas ?? 2_000);
const seed = Number(values.seed ?? Math.floor(Date.now() / dayMs) * 10_000);

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
