import { fileURLToPath } from 'node:url';
import { hostLoadOptions } from '#inference/host';
import { CpuClock } from '../admission/cpu-clock.js';
import { type BenchSubject, type BenchSubjectResult, medianOf, type Ratio, type Report, runBench } from '../report.js';
import { BenchChild, type ChildRun } from '../text/child.contender.js';
import { summarizeRun } from '../text/timing.js';
import { prepareWeights } from '../text/weights.js';
import { grammarPeer, type GrammarPeer } from './grammar-peer.js';
import { matcherSubjects } from './matchers.js';
import { type ConstrainedPlan, planOf, type PlanShape, type SchemaUse } from './plans.js';

export interface StructuredOptions {
  home: string;
  threads: number;
  rounds: number;
  json: string | null;
  streams: number;
  /** Tokens of each stream. */
  tokens: number;
  /** Part of the names of the subjects that run. */
  only: string;
}

/** Tokens of the context that stay free for the prompt. */
const promptRoom = 64;

/** Measures one model with its peers, and prints its report. */
export async function benchModel(model: string, options: StructuredOptions): Promise<Report> {
  const { home, threads, rounds, json, streams, only } = options;
  const weights = await prepareWeights(model, home, 'same');
  const { manifest, folder } = weights;
  const outputTokens = Math.min(options.tokens, (manifest.contextLength ?? 2_048) - promptRoom);
  const load = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads, slots: streams });
  const module = fileURLToPath(new URL('./constrained-engine.child.js', import.meta.url));
  const engine = await BenchChild.start(module, load);
  const llama = await grammarPeer(weights, threads);
  const shape = { streams, promptTokens: 12, outputTokens };
  const matchers = await matcherSubjects(folder);
  const all = [...engineSubjects(engine, shape), ...(llama === null ? [] : peerSubjects(llama, shape)), ...matchers];
  const subjects = all.filter(({ name }) => name.includes(only));
  try {
    const settings = { model, rounds, threads, streams, outputTokens };
    return await runBench({ name: 'structured', settings, subjects, rounds, ratiosOf: ratiosFor(streams), json });
  } finally {
    const unused = matchers.filter((subject) => !subjects.includes(subject));
    await Promise.all([engine.close(), llama?.close(), ...unused.map((subject) => subject.close?.())]);
  }
}

type Shape = Omit<PlanShape, 'temperature'>;

async function runPlan(child: GrammarPeer, plan: ConstrainedPlan) {
  return summarizeRun(((await child.call('run', plan)) as ChildRun).timings);
}

interface DecodeOptions {
  name: string;
  use: SchemaUse;
  temperature: number;
}

function decodeSubject(child: GrammarPeer, given: Shape, { name, use, temperature }: DecodeOptions): BenchSubject {
  const shape: PlanShape = { ...given, temperature };
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
function firstTokenSubject(engine: BenchChild, name: string, use: SchemaUse): BenchSubject {
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

function engineSubjects(engine: BenchChild, shape: Shape): BenchSubject[] {
  return [
    decodeSubject(engine, shape, { name: 'any text, greedy', use: 'none', temperature: 0 }),
    decodeSubject(engine, shape, { name: 'schema, greedy', use: 'cached', temperature: 0 }),
    decodeSubject(engine, shape, { name: 'any text, sampled', use: 'none', temperature: 1 }),
    decodeSubject(engine, shape, { name: 'schema, sampled', use: 'cached', temperature: 1 }),
    firstTokenSubject(engine, 'first token, any text', 'none'),
    firstTokenSubject(engine, 'first token, cached schema', 'cached'),
    firstTokenSubject(engine, 'first token, new schema', 'new'),
  ];
}

function peerSubjects(llama: GrammarPeer, shape: Shape): BenchSubject[] {
  return [
    decodeSubject(llama, shape, { name: 'llama.cpp, any text', use: 'none', temperature: 0 }),
    decodeSubject(llama, shape, { name: 'llama.cpp, grammar', use: 'cached', temperature: 0 }),
  ];
}

const ratiosFor =
  (streams: number) =>
  (results: readonly BenchSubjectResult[]): Ratio[] => {
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
  };
