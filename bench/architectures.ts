import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  activeCases,
  type ArchitectureCase,
  control,
  denseCases,
  expertCases,
  llama,
  type ModelSize,
  modelSizes,
  stateCases,
} from './architectures/cases.js';
import { startRandomModel } from './architectures/random-model.js';
import {
  type BenchSubjectResult,
  type Figures,
  machineFacts,
  medianOf,
  publish,
  type Ratio,
  runInterleaved,
} from './report.js';
import { benchOptions, jsonOption } from './settings.js';
import type { BenchChild } from './text/child.contender.js';

const options = benchOptions(
  `npm run bench -- architectures [options]

Processor time per token of prompt and of output for random models of each architecture, beside llama with layers of the
same size, in turns, each pair in its own rounds. Models of experts have as many active weights as llama, and once more
or fewer. Every model is converted from a 4-bit GGUF file in the default precision.`,
  {
    size: { value: 'NAME', about: `layers of ${Object.keys(modelSizes).join(' or ')}`, default: 'tinyllama' },
    only: { value: 'NAME', about: 'only this architecture; may be repeated', isRepeated: true },
    layers: { value: 'N', about: 'layers of each model', default: 2 },
    context: { value: 'N', about: 'tokens before those that are measured', default: 192 },
    chunks: { value: 'N', about: 'prompt chunks of 64 tokens per round', default: 1 },
    steps: { value: 'N', about: 'tokens decoded per round', default: 8 },
    rounds: { value: 'N', about: 'measured rounds', default: 25 },
    threads: { value: 'N', about: 'threads of every model', default: 1 },
    json: jsonOption,
  },
);

/** Speed over that of llama. */
const aim = 0.9;

interface Measured {
  results: BenchSubjectResult[];
  ratios: Ratio[];
}

const size = sizeOf(options.size);
const isWanted = ({ name }: ArchitectureCase): boolean => options.only.length === 0 || options.only.includes(name);
const folder = await mkdtemp(join(tmpdir(), 'architectures-'));
let opened = 0;

function sizeOf(name: string): ModelSize {
  const found = modelSizes[name];
  if (found) return { ...found, layers: options.layers };
  throw new Error(`--size is ${Object.keys(modelSizes).join(' or ')}, not ${name}.`);
}

function open(model: ArchitectureCase): Promise<BenchChild> {
  const { threads, context, chunks, steps } = options;
  const own = join(folder, String(opened++));
  return startRandomModel(model, size, { folder: own, threads, context, chunks, steps });
}

function measure(models: readonly { name: string; child: BenchChild }[]): Promise<BenchSubjectResult[]> {
  const subjects = models.map(({ name, child }) => ({
    name,
    run: async () => (await child.call('run', {})) as Figures,
  }));
  return runInterleaved(subjects, { rounds: options.rounds, warmups: 1 });
}

/** One more architecture beside llama, alone in memory with it. */
async function compare(base: BenchChild, model: ArchitectureCase): Promise<Measured> {
  const child = await open(model);
  try {
    const results = await measure([
      { name: llama.name, child: base },
      { name: model.name, child },
    ]);
    const ratios = ['prefillMs', 'decodeMs'].map((figure): Ratio => {
      const value = medianOf(results, llama.name, figure) / medianOf(results, model.name, figure);
      return { name: `${model.name} over llama, ${figure === 'decodeMs' ? 'decode' : 'prefill'}`, value, aim };
    });
    for (const { name, value } of ratios) process.stderr.write(`${name}: ${value.toFixed(3)}\n`);
    return { results: results.map((result) => ({ ...result, name: nameBeside(result.name, model.name) })), ratios };
  } finally {
    await child.close();
  }
}

function nameBeside(name: string, other: string): string {
  return name === llama.name ? `${llama.name} beside ${other}` : name;
}

/** Time by active experts: what two and four of sixteen take, over what eight take. */
async function compareActive(models: readonly ArchitectureCase[]): Promise<Measured> {
  const running: { name: string; child: BenchChild }[] = [];
  try {
    for (const model of models) running.push({ name: model.name, child: await open(model) });
    const results = await measure(running);
    const most = models.at(-1)?.name ?? '';
    const time = (name: string): number => medianOf(results, name, 'decodeMs');
    const ratios = models.slice(0, -1).map(({ name }): Ratio => {
      return { name: `${name}: time over ${most}, decode`, value: time(name) / time(most), aim: null };
    });
    return { results, ratios };
  } finally {
    for (const { child } of running) await child.close();
  }
}

const measured: Measured[] = [];
try {
  const base = await open(llama);
  for (const model of [control, ...denseCases, ...stateCases(size), ...expertCases(size)].filter(isWanted))
    measured.push(await compare(base, model));
  await base.close();
  const active = activeCases(size).filter(isWanted);
  if (active.length > 1) measured.push(await compareActive(active));
} finally {
  await rm(folder, { recursive: true, force: true });
}
const { size: name, layers, context, rounds, threads } = options;
await publish(
  {
    bench: 'architectures',
    startedAt: new Date().toISOString(),
    machine: machineFacts(),
    settings: { size: name, layers, context, rounds, threads },
    results: measured.flatMap(({ results }) => results),
    ratios: measured.flatMap(({ ratios }) => ratios),
  },
  options.json,
);
