import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { modelsFolder } from '#model-store';
import { machineFacts } from './report.js';
import { benchOptions, homeOption } from './settings.js';
import { casesFor } from './text/cases.js';
import { contenderNames, startBenchPlatforms } from './text/bench-platforms.js';
import { type CaseResult, type PrefixResult, runCase, runPrefixCase, type RunOptions } from './text/run-cases.js';
import { platformRatios, resultTable } from './text/text-report.js';
import { peerFormats, prepareWeights } from './text/weights.js';

const options = benchOptions(
  `npm run bench -- text [options]

Chats of several shapes, answered by the whole platform, by our engine alone, by transformers.js and by llama.cpp, in turns.`,
  {
    model: { value: 'ID', about: 'what writes', default: 'stories-15m' },
    home: homeOption,
    runs: { value: 'N', about: 'measured runs per case', default: 5 },
    threads: { value: 'N', about: 'threads of every contender', default: 2 },
    slots: { value: 'N', about: 'concurrent sequences of our engine; default: from the manifest' },
    port: { value: 'N', about: 'port of the API', default: 3_900 },
    only: { value: 'LIST', about: 'contenders to run:' + contenderNames.join(', '), default: '' },
    peers: { value: 'FORMAT', about: `weights of transformers.js: ${peerFormats.join(' or ')}`, default: 'same' },
    case: { value: 'TEXT', about: 'cases whose name contains this', default: '' },
    quick: { about: 'small cases, one run each' },
    output: { value: 'PATH', about: 'also write the report there' },
  },
);

const only = options.only.split(',').filter(Boolean);
const unknown = only.filter((name) => !contenderNames.some((known) => known === name));
if (unknown.length > 0)
  throw new Error(`unknown contender ${unknown.join(', ')}; expected ${contenderNames.join(', ')}`);

const peers = peerFormats.find((format) => format === options.peers);
if (peers === undefined) throw new Error(`unknown format ${options.peers}; expected ${peerFormats.join(', ')}`);

const say = (text: string) => process.stderr.write(`${text}\n`);

say(`preparing the weights of ${options.model} in ${options.home}`);
const weights = await prepareWeights(options.model, options.home, peers);
const { platform, contenders } = await startBenchPlatforms({
  weights,
  threads: options.threads,
  slots: options.slots === null ? undefined : Number(options.slots),
  port: options.port,
  modelsFolder: modelsFolder(options.home),
  only,
});

const runs: RunOptions = {
  repetitions: options.quick ? 1 : options.runs,
  warmups: 1,
  onProgress: say,
};
const results: CaseResult[] = [];
let prefix: PrefixResult | null = null;
try {
  const set = casesFor(weights.manifest.contextLength ?? 2_048, options.quick);
  for (const each of set.cases.filter(({ name }) => name.includes(options.case))) {
    results.push(...(await runCase(each, contenders, runs)));
  }
  if (platform && set.prefix?.name.includes(options.case)) prefix = await runPrefixCase(set.prefix, platform, runs);
} finally {
  await Promise.all(contenders.map((contender) => contender.close()));
}

const startedAt = new Date().toISOString();
const report = { bench: 'text', startedAt, machine: machineFacts(), settings: options, results, prefix };
if (options.output !== null) {
  await mkdir(dirname(options.output), { recursive: true });
  await writeFile(options.output, `${JSON.stringify(report, null, 2)}\n`);
}
process.stdout.write(`${resultTable(results)}\n\n${platformRatios(results)}\n`);
if (prefix) {
  const { computedMs, reusedMs, cachedTokens } = prefix;
  const ratio = (computedMs / reusedMs).toFixed(1);
  process.stdout.write(
    `\n${prefix.case}: first token after ${computedMs.toFixed(0)} ms computed, ${reusedMs.toFixed(0)} ms reused` +
      `(${cachedTokens} tokens from the cache), ${ratio}×\n`,
  );
}
process.exit(0);
