import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readNvidiaDriver } from '#platform/devices';
import type { InstalledModel } from '#model-store';
import { ProviderContestant } from './gpu/provider-contestant.js';
import { installAll } from './models.js';
import { type ContestantResult, medianOf, type Ratio, runBench } from './report.js';

const help = `node dist/bench/gpu.js [options]

The engines alone on each execution provider that works here, in turns: tokens per second of one text and of many at
once, what a step takes and how much more it takes over a long cache (attention, and the copy of the cache where it
crosses the bus), texts embedded per second, a picture of 320 by 240 doubled, and the memory of machine and device.

  --providers A,B  default cuda,webgpu,cpu; what does not work here is left out, with the reason
  --text ID        model that writes, default tinyllama-1.1b-chat
  --streams N      texts at once, default 16
  --tokens N       tokens per text, default 32
  --rounds N       measured rounds, default 5
  --threads N      threads of every model, default 2
  --home DIR       keeps weights between runs, default ~/.cache/sluice-test
  --json PATH      also write the report there
`;

const { values } = parseArgs({
  options: {
    providers: { type: 'string', default: 'cuda,webgpu,cpu' },
    text: { type: 'string', default: 'tinyllama-1.1b-chat' },
    streams: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    home: { type: 'string', default: join(homedir(), '.cache', 'sluice-test') },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}

const { home, json = null } = values;
const [streams, outputTokens, rounds, threads] = [values.streams, values.tokens, values.rounds, values.threads].map(
  Number,
) as [number, number, number, number];

const installed = await installAll(home, [values.text, 'all-minilm-l6-v2', 'esrgan-slim']);
const [text, embedding, picture] = installed as [InstalledModel, InstalledModel, InstalledModel];
const contestants: ProviderContestant[] = [];
for (const provider of values.providers.split(',')) {
  const plan = { provider, models: { text, embedding, picture }, threads, streams, outputTokens };
  try {
    contestants.push(await ProviderContestant.start(plan));
  } catch (error) {
    process.stderr.write(`${provider} is left out: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}
const driver = await readNvidiaDriver();
const device = driver?.devices.map(({ name }) => name).join(', ') ?? 'none';
const settings = { device, driver: driver?.driverVersion ?? 'none', text: values.text, streams, outputTokens, threads };
const figures = ['oneTokensPerSecond', 'manyTokensPerSecond', 'textsPerSecond'];
const ratiosOf = (results: readonly ContestantResult[]): Ratio[] =>
  results
    .filter(({ name }) => name !== 'cpu' && results.some((each) => each.name === 'cpu'))
    .flatMap(({ name }) =>
      figures.map((figure) => {
        const value = medianOf(results, name, figure) / medianOf(results, 'cpu', figure);
        return { name: `${name} / cpu, ${figure}`, value, aim: null };
      }),
    );
await runBench({ name: 'gpu', settings, contestants, rounds, ratiosOf, json });
process.exit(0);
