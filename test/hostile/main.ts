import { readCommandLine } from '#command-line';
import { hostileConstraints } from '#test/hostile-constraints';
import { type HostileResult, runHostileConstraint } from '#test/hostile-run';
import { randomConstraints } from '#test/random-constraints';
import { wordTrie } from '#test/word-trie';

const dayMs = 86_400_000;
/** Near what a request may hold. */
const largeSize = 3;
/** Most processor time between two turns, in ms: large heaps take longer to collect. */
const maxMs = 300;

const about = `npm test -- hostile [options]

Compiles hostile and random schemas, patterns and grammars for a vocabulary of 30,000 tokens and writes a text by each.
Prints those that keep the event loop from turning for too long, in processor time, that take too much memory or that
fail, and the longest silences. Exits with 1 if there is any fault.`;
const { values } = readCommandLine(about, {
  random: { value: 'N', about: 'random constraints of each kind', default: 500 },
  seed: { value: 'N', about: 'seed; default: another every day', isNumber: true },
});
const seed = values.seed ?? Math.floor(Date.now() / dayMs);

const trie = wordTrie(30_000);
const random = randomConstraints({ count: values.random, seed });
const results: HostileResult[] = [];
for (const constraint of [...hostileConstraints(), ...hostileConstraints(largeSize), ...random]) {
  const result = await runHostileConstraint(trie, constraint, 60, maxMs);
  results.push(result);
  for (const fault of result.faults) process.stdout.write(`${result.name}: ${fault}\n`);
}
const faults = results.filter((result) => result.faults.length > 0);
const compiled = results.filter(({ refusal }) => refusal === null).length;
process.stdout.write(
  `seed ${seed}: ${results.length} constraints, ${compiled} compiled, ${faults.length} with faults\n`,
);
for (const { name, longestMs, heapMiB, totalMs, refusal } of results
  .toSorted((left, right) => right.longestMs - left.longestMs)
  .slice(0, 12)) {
  const figures = `${longestMs.toFixed(0)} ms of ${totalMs.toFixed(0)} ms at once, ${heapMiB.toFixed(0)} MiB`;
  process.stdout.write(`${figures}: ${name} (${refusal?.slice(0, 80) ?? 'compiled'})\n`);
}
process.exitCode = faults.length === 0 && compiled > results.length / 8 ? 0 : 1;
