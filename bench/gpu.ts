import { errorText } from '#common/values';
import { readNvidiaDriver } from '#platform/devices';
import type { InstalledModel } from '#model-store';
import { ProviderBenchSubject } from './gpu/provider-subject.js';
import { installAll } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const options = benchOptions(
  `npm run bench -- gpu [options]

The engines alone on each execution provider that works here, in turns: tokens per second of one text and of many at
once, what a step takes and how much more it takes over a long cache (attention, and the copy of the cache where it
crosses the bus), texts embedded per second, an image of 320 by 240 upscaled by two, and the memory of machine and device.
Providers that do not work here are skipped with the reason.`,
  {
    providers: { value: 'A,B', about: 'in turns', default: 'cuda,webgpu,cpu' },
    text: { value: 'ID', about: 'text generation model', default: 'tinyllama-1.1b-chat' },
    streams: { value: 'N', about: 'concurrent texts', default: 16 },
    tokens: { value: 'N', about: 'tokens per text', default: 32 },
    ...modelBenchOptions,
  },
);
const { home, json, rounds, threads, streams, tokens: outputTokens } = options;

const installed = await installAll(home, [options.text, 'all-minilm-l6-v2', 'esrgan-slim']);
const [text, embedding, image] = installed as [InstalledModel, InstalledModel, InstalledModel];
const subjects: ProviderBenchSubject[] = [];
for (const provider of options.providers.split(',')) {
  const plan = { provider, models: { text, embedding, image }, threads, streams, outputTokens };
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
  streams,
  outputTokens,
  threads,
};
const figures = ['oneTokensPerSecond', 'manyTokensPerSecond', 'textsPerSecond'];
const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] =>
  results
    .filter(({ name }) => name !== 'cpu' && results.some((each) => each.name === 'cpu'))
    .flatMap(({ name }) =>
      figures.map((figure) => {
        const value = medianOf(results, name, figure) / medianOf(results, 'cpu', figure);
        return { name: `${name} / cpu, ${figure}`, value, aim: null };
      }),
    );
await runBench({ name: 'gpu', settings, subjects, rounds, ratiosOf, json });
process.exit(0);
