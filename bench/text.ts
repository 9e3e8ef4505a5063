import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { modelsFolder } from '#model-store';
import { machineFacts } from './report.js';
import { casesFor } from './text/cases.js';
import { contenderNames, startLineup } from './text/lineup.js';
import { type CaseResult, type PrefixResult, runCase, runPrefixCase, type RunOptions } from './text/run-cases.js';
import { platformRatios, resultTable } from './text/text-report.js';
import { prepareWeights } from './text/weights.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'stories-15m' },
    /** Keeps weights between runs. */
    home: { type: 'string', default: join(homedir(), '.cache', 'sluice-test') },
    runs: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    slots: { type: 'string' },
    port: { type: 'string', default: '3900' },
    /** Some of the contenders, comma separated. */
    only: { type: 'string', default: '' },
    /** Part of a case's name. */
    case: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    output: { type: 'string' },
  },
});

const only = values.only.split(',').filter(Boolean);
const unknown = only.filter((name) => !contenderNames.some((known) => known === name));
if (unknown.length > 0)
  throw new Error(`unknown contender ${unknown.join(', ')}; there are ${contenderNames.join(', ')}`);

const say = (text: string) => process.stderr.write(`${text}\n`);

say(`preparing the weights of ${values.model} in ${values.home}`);
const weights = await prepareWeights(values.model, values.home);
const { platform, contenders } = await startLineup({
  weights,
  threads: Number(values.threads),
  slots: values.slots === undefined ? undefined : Number(values.slots),
  port: Number(values.port),
  modelsFolder: modelsFolder(values.home),
  only,
});

const options: RunOptions = {
  repetitions: values.quick ? 1 : Number(values.runs),
  warmups: 1,
  onProgress: say,
};
const results: CaseResult[] = [];
let prefix: PrefixResult | null = null;
try {
  const set = casesFor(weights.manifest.contextLength ?? 2_048, values.quick);
  for (const each of set.cases.filter(({ name }) => name.includes(values.case))) {
    results.push(...(await runCase(each, contenders, options)));
  }
  if (platform && set.prefix?.name.includes(values.case)) prefix = await runPrefixCase(set.prefix, platform, options);
} finally {
  await Promise.all(contenders.map((contender) => contender.close()));
}

const startedAt = new Date().toISOString();
const report = { bench: 'text', startedAt, machine: machineFacts(), settings: values, results, prefix };
if (values.output !== undefined) {
  await mkdir(dirname(values.output), { recursive: true });
  await writeFile(values.output, `${JSON.stringify(report, null, 2)}\n`);
}
process.stdout.write(`${resultTable(results)}\n\n${platformRatios(results)}\n`);
if (prefix) {
  const { computedMs, reusedMs, cachedTokens } = prefix;
  const ratio = (computedMs / reusedMs).toFixed(1);
  process.stdout.write(
    `\n${prefix.case}: first token ${computedMs.toFixed(0)} ms computed, ${reusedMs.toFixed(0)} ms reused ` +
      `(${cachedTokens} tokens from the cache), ${ratio}×\n`,
  );
}
process.exit(0);
