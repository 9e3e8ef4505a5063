import { fileURLToPath } from 'node:url';
import { hostLoadOptions } from '#inference/host';
import { CpuClock } from './admission/cpu-clock.js';
import { installAll } from './models.js';
import { type BenchSubject, type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';
import type { SpeculationPlan, SpeculationRun } from './speculation/speculation.child.js';
import { categories, tasksOf } from './speculation/tasks.js';
import { BenchChild } from './text/child.contender.js';
import { summarizeRun } from './text/timing.js';

const { home, threads, rounds, json, model, tokens, drafts } = benchOptions(
  `npm run bench -- speculation [options]

Answers that copy their prompt little or nearly whole, with drafts of prompt lookup and without: one stream, and two at a
time. The texts must be equal.`,
  {
    ...modelBenchOptions,
    model: { value: 'ID', about: 'what writes', default: 'qwen2.5-coder-0.5b-instruct' },
    tokens: { value: 'N', about: 'most tokens of each answer', default: 256 },
    drafts: { value: 'N', about: 'most tokens of a draft', default: 8 },
  },
);

/** The least of the speed without drafts that any category keeps. */
const slowest = 0.98;

const [installed] = await installAll(home, [model]);
if (installed === undefined) throw new Error(`${model} could not be installed`);
const { manifest, folder: directory } = installed;
const module = fileURLToPath(new URL('./speculation/speculation.child.js', import.meta.url));
const texts = new Map<string, string>();
let differing = 0;

/** The plain process computes a text first or last, in turns; either way both must write the same. */
function compareTexts(key: string, text: string): void {
  const other = texts.get(key);
  if (other !== undefined && other !== text) differing += 1;
  texts.set(key, text);
}

async function subjectOf(name: string, draftTokens: number): Promise<BenchSubject> {
  const settings = { providers: ['cpu'], threads, slots: 2, draftTokens };
  const child = await BenchChild.start(module, hostLoadOptions({ manifest, directory }, settings));
  return {
    name,
    run: async (round) => {
      const figures: Record<string, number> = {};
      for (const streams of [1, 2]) {
        for (const [index, category] of categories.entries()) {
          const tasks = tasksOf(category, (round + 1) * 100 + index * 10 + streams, streams);
          const plan: SpeculationPlan = { tasks, maxTokens: tokens };
          const clock = new CpuClock({ child: child.pid });
          const { runs, drafted, accepted } = (await child.call('run', plan)) as SpeculationRun;
          const { child: cpuMs = Number.NaN } = clock.elapsedMs();
          runs.forEach(({ text }, stream) => compareTexts(`${round}-${streams}-${category}-${stream}`, text));
          const { decodeTokensPerSecond, tokens: written } = summarizeRun(runs);
          figures[`${category} ${streams}, tokens/s`] = decodeTokensPerSecond;
          // Prompts are part of it.
          figures[`${category} ${streams}, cpuMsPerToken`] = cpuMs / written;
          if (draftTokens > 0) figures[`${category} ${streams}, accepted`] = drafted === 0 ? 0 : accepted / drafted;
          if (draftTokens > 0) figures[`${category} ${streams}, drafted`] = drafted;
        }
      }
      return figures;
    },
    close: () => child.close(),
  };
}

function ratiosOf(results: readonly BenchSubjectResult[]): Ratio[] {
  const rates = [1, 2].flatMap((streams) =>
    categories.map((category) => {
      const figure = `${category} ${streams}, tokens/s`;
      const value = medianOf(results, 'drafts', figure) / medianOf(results, 'plain', figure);
      return { name: `${category}, ${streams} at a time: drafts / plain`, value, aim: slowest };
    }),
  );
  return [...rates, { name: 'texts that differ', value: differing, aim: 0, isLimit: true }];
}

const subjects = [await subjectOf('plain', 0), await subjectOf('drafts', drafts)];
await runBench({
  name: 'speculation',
  settings: { model, rounds, threads, tokens, drafts },
  subjects,
  rounds,
  ratiosOf,
  json,
});
process.exit(0);
