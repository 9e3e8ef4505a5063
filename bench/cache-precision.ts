import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cutWindows } from '#inference';
import {
  type CacheKind,
  cacheKinds,
  type CacheLoad,
  type CachePlan,
  type GridTimes,
} from './cache-precision/cache-decoder.child.js';
import { cellName } from './gpu/provider-subject.js';
import { difference, mean, tokenize } from './perplexity/losses.js';
import { type BenchSubject, type BenchSubjectResult, type Figures, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';
import { BenchChild } from './text/child.contender.js';

const options = benchOptions(
  `npm run bench -- cache-precision --model DIR --text chapter_1.json --text chapter_2.json

Decode steps on the processor behind some positions, in turns: with the cache as an input of each run (split, as the
platform runs), and written in place by GroupQueryAttention in float32 and in 8 bits with scales per tensor or per
channel. Perplexity behind the same positions, on the same tokens. Scales come from other tokens of the texts. Times are those of
all processors.`,
  {
    model: { value: 'DIR', about: 'folder of an installed model', default: '' },
    text: { value: 'FILE', about: 'text file; of a .json file its member `text`', isRepeated: true },
    streams: { value: 'A,B', about: 'rows that decode together', default: '1,8' },
    positions: { value: 'A,B', about: 'positions before them', default: '100,1500,4000' },
    steps: { value: 'N', about: 'decode steps over each cache', default: 16 },
    windows: { value: 'N', about: 'parts of the text that are scored', default: 6 },
    scored: { value: 'N', about: 'tokens scored behind each number of positions; 0: none', default: 128 },
    calibration: { value: 'N', about: 'tokens from which scales are found', default: 512 },
    threads: { value: 'N', about: 'threads of the model', default: 1 },
    kinds: { value: 'A,B', about: 'caches that are compared with the first', default: cacheKinds.join(',') },
    rounds: { ...roundsOption, about: 'measured rounds; 0: perplexity only' },
    json: jsonOption,
  },
);
const { model, text, steps, windows: windowCount, scored, calibration, threads, rounds, json } = options;
if (model === '' || text.length === 0) throw new Error('Give a --model folder and at least one --text file.');

const numbersOf = (list: string): number[] => list.split(',').map(Number);
const positions = numbersOf(options.positions);
const streams = numbersOf(options.streams);
const kinds = options.kinds.split(',') as CacheKind[];
const [reference] = kinds as [CacheKind];
const cells = positions.flatMap((count) => streams.map((rows) => ({ streams: rows, positions: count })));
const tokens = await tokenize(model, text);
const longest = Math.max(...positions);
const promptFigure = `${longest}PromptMs`;
const window = longest + scored + 1;
const windows = cutWindows(tokens.subarray(calibration), { window }).slice(0, windowCount);
if (windows.length < windowCount) throw new Error(`The texts have ${tokens.length} tokens, which are too few.`);
const module = fileURLToPath(new URL('./cache-precision/cache-decoder.child.js', import.meta.url));
/** Losses of the scored tokens of each subject, by positions. */
const losses = new Map<string, number[][]>();

async function subjectOf(kind: CacheKind): Promise<BenchSubject> {
  const load: CacheLoad = {
    modelPath: join(model, 'model.onnx'),
    kind,
    calibration: tokens.slice(0, calibration),
    threads,
    slots: Math.max(...streams),
  };
  const child = await BenchChild.start(module, load);
  const call = async (plan: CachePlan) => await child.call('run', plan);
  return {
    name: kind,
    prepare: async () => {
      if (scored > 0) losses.set(kind, (await call({ score: { windows, positions, scored } })) as number[][]);
    },
    run: async () => {
      const found = (await call({ grid: { positions: longest, cells, steps } })) as GridTimes;
      const figures: Figures = { [promptFigure]: found.promptProcessorMs };
      cells.forEach((cell, index) => {
        figures[`${cellName(cell)}StepMs`] = found.cells[index]?.stepProcessorMs ?? Number.NaN;
      });
      return figures;
    },
    close: () => child.close(),
  };
}

function ratiosOf(results: readonly BenchSubjectResult[]): Ratio[] {
  const figures = [promptFigure, ...cells.map((cell) => `${cellName(cell)}StepMs`)];
  return kinds.slice(1).flatMap((kind) =>
    figures.map((figure) => {
      const value = medianOf(results, kind, figure) / medianOf(results, reference, figure);
      return { name: `${kind} / ${reference}, ${figure}`, value, aim: null };
    }),
  );
}

function printLosses(): void {
  const of = (kind: CacheKind, index: number) => Float64Array.from(losses.get(kind)?.[index] ?? []);
  console.log(`\n| perplexity behind | ${kinds.join(' | ')} |\n|---|${kinds.map(() => '---:|').join('')}`);
  positions.forEach((count, index) => {
    const cells = kinds.map((kind) => {
      const perplexity = Math.exp(mean(of(kind, index))).toFixed(3);
      return kind === reference ? perplexity : `${perplexity} (${difference(of(kind, index), of(reference, index))})`;
    });
    console.log(`| ${count} | ${cells.join(' | ')} |`);
  });
}

/** Reads the text with every subject, without measuring times. */
async function prepareAll(): Promise<void> {
  for (const subject of subjects) {
    try {
      await subject.prepare?.();
    } finally {
      await subject.close?.();
    }
  }
}

const subjects: BenchSubject[] = [];
for (const kind of kinds) subjects.push(await subjectOf(kind));
const settings = { model: basename(model), threads, steps, calibration, scored: scored * windowCount };
if (rounds > 0) await runBench({ name: 'cache-precision', settings, subjects, rounds, ratiosOf, json });
else await prepareAll();
if (scored > 0) printLosses();
