import { errorText } from '#common/values';
import { readNvidiaDriver } from '#platform/devices';
import type { InstalledModel } from '#model-store';
import { cellName, ProviderBenchSubject } from './gpu/provider-subject.js';
import { installAll } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const options = benchOptions(
  `npm run bench -- gpu [options]

The engines alone on each execution provider that works here, in turns: tokens per second of one text and of 16 at
once; decode steps over caches of some lengths, with what they read of weights and caches per second and the bytes over
the bus per token; texts embedded per second, an image of 320 by 240 upscaled by two, and the memory of machine and device.
Providers that do not work here are skipped with the reason.`,
  {
    providers: { value: 'A,B', about: 'in turns', default: 'cuda,webgpu,cpu' },
    text: { value: 'ID', about: 'text generation model', default: 'tinyllama-1.1b-chat' },
    streams: { value: 'A,B', about: 'rows that decode together', default: '1,16,64' },
    positions: { value: 'A,B', about: 'positions before them, where the model has as many', default: '100,1000,4000' },
    steps: { value: 'N', about: 'decode steps over each cache', default: 16 },
    bandwidth: {
      value: 'N',
      about: "GB/s of the device's memory, for the part that steps reach; 0: unknown",
      default: 0,
    },
    tokens: { value: 'N', about: 'tokens per text', default: 32 },
    ...modelBenchOptions,
  },
);
const { home, json, rounds, threads, steps, bandwidth, tokens: outputTokens } = options;

const installed = await installAll(home, [options.text, 'all-minilm-l6-v2', 'esrgan-slim']);
const [text, embedding, image] = installed as [InstalledModel, InstalledModel, InstalledModel];
const numbersOf = (list: string): number[] => list.split(',').map(Number);
/** Places for the steps before the measured ones too. */
const longest = (text.manifest.contextLength ?? 256) - steps - 8;
const cells = numbersOf(options.streams).flatMap((streams) =>
  numbersOf(options.positions)
    .filter((positions) => positions <= longest)
    .map((positions) => ({ streams, positions })),
);
const subjects: ProviderBenchSubject[] = [];
for (const provider of options.providers.split(',')) {
  const plan = { provider, models: { text, embedding, image }, threads, outputTokens, cells, steps };
  try {
    subjects.push(await ProviderBenchSubject.start(plan));
  } catch (error) {
    process.stderr.write(`${provider} is skipped: ${errorText(error)}\n`);
  }
}
const driver = await readNvidiaDriver();
const device = driver?.devices.map(({ name }) => name).join(', ') ?? 'none';
const settings = {
  device,
  driver: driver?.driverVersion ?? 'none',
  text: options.text,
  streams: options.streams,
  positions: options.positions,
  steps,
  outputTokens,
  threads,
};
const figures = ['oneTokensPerSecond', 'manyTokensPerSecond', 'textsPerSecond'];
const stepNames = cells.map((cell) => `${cellName(cell)}StepMs`);
const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => {
  const valueOf = (name: string, figure: string) => medianOf(results, name, figure);
  const hasProcessor = results.some(({ name }) => name === 'cpu');
  const devices = results.map(({ name }) => name).filter((name) => name !== 'cpu');
  return devices.flatMap((name) => {
    const rates = figures.map((figure) => {
      return { name: `${name} / cpu, ${figure}`, value: valueOf(name, figure) / valueOf('cpu', figure), aim: null };
    });
    const steps = stepNames.map((figure) => {
      return { name: `cpu / ${name}, ${figure}`, value: valueOf('cpu', figure) / valueOf(name, figure), aim: null };
    });
    const reached = cells.map((cell) => {
      const value = valueOf(name, `${cellName(cell)}GBPerSecond`) / bandwidth;
      return { name: `${name} / bandwidth, ${cellName(cell)}GBPerSecond`, value, aim: null };
    });
    return [...(hasProcessor ? [...rates, ...steps] : []), ...(bandwidth > 0 ? reached : [])];
  });
};
await runBench({ name: 'gpu', settings, subjects, rounds, ratiosOf, json });
process.exit(0);
