import type { InstalledModel } from '#model-store';
import { redisAvailable } from '#test/redis';
import {
  asSubject,
  bareEmbedder,
  type BenchSubjectOptions,
  type Embedder,
  peerEmbedder,
  platformEmbedder,
} from './embeddings/embedders.js';
import { installAll, serveModels } from './models.js';
import { type BenchSubject, type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const {
  model: modelId,
  texts,
  callers,
  home,
  threads,
  rounds,
  json,
} = benchOptions(
  `npm run bench -- embeddings [options]

Texts embedded per second by 32 callers through the whole platform and by our engine alone, in requests of 16 texts and
of one, beside transformers.js on the same weights, one text at a time and in batches of 32, in turns.`,
  {
    texts: { value: 'N', about: 'texts per run', default: 512 },
    callers: { value: 'N', about: 'at once', default: 32 },
    model: { value: 'ID', about: 'what embeds', default: 'all-minilm-l6-v2' },
    ...modelBenchOptions,
  },
);

/** Target ratio to the peer with the same weights. */
const aims = { oneByOne: 1.7, batches: 3 };
const peer = 'transformers.js';

const [model] = (await installAll(home, [modelId])) as [InstalledModel];
const platform = await serveModels({
  home,
  models: [model],
  threads,
  transport: redisAvailable ? 'redis' : 'postgres',
});
const embedders: Embedder[] = [];
try {
  const [whole, bare, js] = [
    platformEmbedder(platform, modelId),
    await bareEmbedder(model, threads),
    await peerEmbedder(model, threads),
  ];
  embedders.push(whole, bare, js);
  const of = (embedder: Embedder, options: Pick<BenchSubjectOptions, 'name' | 'perRequest'>): BenchSubject =>
    asSubject(embedder, { texts, callers, ...options });
  const subjects = [
    of(whole, { name: 'sluice, 16 texts a request', perRequest: 16 }),
    of(whole, { name: 'sluice, one text a request', perRequest: 1 }),
    of(bare, { name: 'bare, 16 texts a request', perRequest: 16 }),
    of(bare, { name: 'bare, one text a request', perRequest: 1 }),
    of(js, { name: `${peer}, one by one`, perRequest: 1 }),
    of(js, { name: `${peer}, batches of 32`, perRequest: 32 }),
  ];
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => {
    const rate = (name: string): number => medianOf(results, name, 'textsPerSecond');
    return ['sluice', 'bare'].flatMap((ours) =>
      ['16 texts a request', 'one text a request'].flatMap((form): Ratio[] => {
        const name = `${ours}, ${form}`;
        const isAimed = form === '16 texts a request';
        return [
          {
            name: `${name} / ${peer}, one by one`,
            value: rate(name) / rate(`${peer}, one by one`),
            aim: isAimed ? aims.oneByOne : null,
          },
          {
            name: `${name} / ${peer}, batches of 32`,
            value: rate(name) / rate(`${peer}, batches of 32`),
            aim: isAimed ? aims.batches : null,
          },
        ];
      }),
    );
  };
  const settings = { rounds, texts, callers, threads, queue: redisAvailable ? 'Redis' : 'PostgreSQL' };
  await runBench({ name: 'embeddings', settings, subjects, rounds, ratiosOf, json });
} finally {
  for (const embedder of embedders) await embedder.close();
  await platform.stop();
}
process.exit(0);
