import { fileURLToPath } from 'node:url';
import { hostLoadOptions } from '#inference/host';
import { CpuClock } from './admission/cpu-clock.js';
import { type BenchSubject, type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';
import { type ConstrainedPlan, planOf, type PlanShape, type SchemaUse } from './structured/plans.js';
import { grammarPeer, type GrammarPeer } from './structured/grammar-peer.js';
import { matcherSubjects } from './structured/matchers.js';
import { BenchChild, type ChildRun } from './text/child.contender.js';
import { summarizeRun } from './text/timing.js';
import { prepareWeights } from './text/weights.js';

const options = benchOptions(
  `node dist/bench/structured.js [options]

Streams that keep to a JSON Schema beside the same streams without one, in our engine and in llama.cpp with its grammars;
the time to compile a schema and to compute a mask, beside web-xgrammar. Subjects take turns.`,
  {
    ...modelBenchOptions,
    model: { value: 'ID', about: 'what writes', default: 'stories-15m' },
    streams: { value: 'N', about: 'concurrent streams', default: 16 },
    tokens: { value: 'N', about: 'tokens of each stream', default: 160 },
    only: { value: 'TEXT', about: 'subjects whose name contains this', default: '' },
  },
);
const { home, threads, rounds, json, model, streams, tokens: maxTokens } = options;

const weights = await prepareWeights(model, home, 'same');
const { manifest, folder } = weights;
const outputTokens = Math.min(maxTokens, (manifest.contextLength ?? 2_048) - 64);

const load = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads, slots: streams });
const engine = await BenchChild.start(
  fileURLToPath(new URL('./structured/constrained-engine.child.js', import.meta.url)),
  load,
);
const runPlan = async (child: GrammarPeer, plan: ConstrainedPlan) =>
  summarizeRun(((await child.call('run', plan)) as ChildRun).timings);

function decodeSubject(child: GrammarPeer, name: string, use: SchemaUse, temperature: number): BenchSubject {
  const shape: PlanShape = { streams, promptTokens: 12, outputTokens, temperature };
  return {
    name,
    run: async (round) => {
      const clock = new CpuClock({ child: child.pid });
      const { decodeTokensPerSecond, tokens } = await runPlan(child, planOf(name, round, use, shape));
      const { child: cpuMs = Number.NaN } = clock.elapsedMs();
      return { decodeTokensPerSecond, tokens, cpuMsPerToken: cpuMs / tokens };
    },
  };
}

/** One stream at a time, several in a row: the first one behind a pause finds cold caches. */
function firstTokenSubject(name: string, use: SchemaUse): BenchSubject {
  const shape: PlanShape = { streams: 1, promptTokens: 12, outputTokens: 4, temperature: 0 };
  return {
    name,
    run: async (round) => {
      const delays: number[] = [];
      for (let turn = 0; turn < 4; turn++) {
        const { firstTokenP50Ms } = await runPlan(engine, planOf(name, round * 10 + turn, use, shape));
        if (turn > 0) delays.push(firstTokenP50Ms);
      }
      return { firstTokenMs: delays.toSorted((left, right) => left - right)[1] ?? Number.NaN };
    },
  };
}

const llama = await grammarPeer(weights, threads);
const subjects = [
  decodeSubject(engine, 'any text, greedy', 'none', 0),
  decodeSubject(engine, 'schema, greedy', 'cached', 0),
  decodeSubject(engine, 'any text, sampled', 'none', 1),
  decodeSubject(engine, 'schema, sampled', 'cached', 1),
  firstTokenSubject('first token, any text', 'none'),
  firstTokenSubject('first token, cached schema', 'cached'),
  firstTokenSubject('first token, new schema', 'new'),
  ...(llama === null
    ? []
    : [
        decodeSubject(llama, 'llama.cpp, any text', 'none', 0),
        decodeSubject(llama, 'llama.cpp, grammar', 'cached', 0),
      ]),
  ...(await matcherSubjects(folder)),
].filter(({ name }) => name.includes(options.only));

function ratiosOf(results: readonly BenchSubjectResult[]): Ratio[] {
  const rate = (name: string): number => medianOf(results, name, 'decodeTokensPerSecond');
  const first = (name: string): number => medianOf(results, `first token, ${name}`, 'firstTokenMs');
  const cost = (name: string, figure: string): number => medianOf(results, name, figure);
  return [
    {
      name: `${streams} streams, greedy: schema / any text`,
      value: rate('schema, greedy') / rate('any text, greedy'),
      aim: 0.97,
    },
    {
      name: `${streams} streams, sampled: schema / any text`,
      value: rate('schema, sampled') / rate('any text, sampled'),
      aim: 0.97,
    },
    {
      name: `${streams} streams, greedy: processor time, any text / schema`,
      value: cost('any text, greedy', 'cpuMsPerToken') / cost('schema, greedy', 'cpuMsPerToken'),
      aim: 0.97,
    },
    {
      name: `${streams} streams, sampled: processor time, any text / schema`,
      value: cost('any text, sampled', 'cpuMsPerToken') / cost('schema, sampled', 'cpuMsPerToken'),
      aim: 0.97,
    },
    {
      name: `${streams} streams, llama.cpp: processor time, any text / grammar`,
      value: cost('llama.cpp, any text', 'cpuMsPerToken') / cost('llama.cpp, grammar', 'cpuMsPerToken'),
      aim: null,
    },
    {
      name: `${streams} streams, llama.cpp: grammar / any text`,
      value: rate('llama.cpp, grammar') / rate('llama.cpp, any text'),
      aim: null,
    },
    {
      name: 'first token later, cached schema, ms',
      value: first('cached schema') - first('any text'),
      aim: 30,
      isLimit: true,
    },
    {
      name: 'first token later, new schema, ms',
      value: first('new schema') - first('any text'),
      aim: 150,
      isLimit: true,
    },
    {
      name: 'compile, ours / web-xgrammar',
      value: cost('matcher, sluice', 'compileMs') / cost('matcher, web-xgrammar', 'compileMs'),
      aim: null,
      isLimit: true,
    },
    {
      name: 'known masks, ours / web-xgrammar',
      value: cost('matcher, sluice', 'maskUs') / cost('matcher, web-xgrammar', 'maskUs'),
      aim: null,
      isLimit: true,
    },
  ].filter(({ value }) => Number.isFinite(value));
}

try {
  const settings = { model, rounds, threads, streams, outputTokens };
  await runBench({ name: 'structured', settings, subjects, rounds, ratiosOf, json });
} finally {
  await Promise.all([engine.close(), llama?.close()]);
}
process.exit(0);
