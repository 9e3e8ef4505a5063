import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { type InstalledModel, pullModels, readInstalledModel, silentReporter } from '#model-store';
import { startPlatform } from '#test/platform';
import { machineFacts, medianOf, publish, type Ratio, runInterleaved } from './report.js';
import { benchTexts } from './speech/texts.js';
import { asContestant, bareVoice, peerVoice, platformVoice } from './speech/voices.js';

const help = `node dist/bench/speech.js [options]

A sentence and a page of twelve, said by Kokoro in the whole platform (whole and as a stream), in our engine alone and in
transformers.js with the same weights and symbols, in turns; TinyTTS, which the peer does not know, beside them.

  --rounds N     measured rounds, default 5
  --threads N    threads of every model, default 2
  --home DIR     keeps weights between runs, default ~/.cache/sluice-test
  --json PATH    also write the report there
`;

const { values } = parseArgs({
  options: {
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

const { home } = values;
const threads = Number(values.threads);
const voice = 'af_sky';

async function install(ids: string[]): Promise<InstalledModel[]> {
  const manifests = (await loadManifestFolder(bundledManifestFolder())).filter(({ id }) => ids.includes(id));
  await pullModels({ home, manifests, reporter: silentReporter });
  return await Promise.all(
    ids.map(async (id) => {
      const model = await readInstalledModel(home, id);
      if (model === null) throw new Error(`${id} could not be installed in ${home}`);
      return model;
    }),
  );
}

const installed = await install(['kokoro-82m', 'tiny-tts']);
const [kokoro, tiny] = installed as [InstalledModel, InstalledModel];
const platform = await startPlatform({
  engine: 'text',
  ownPostgres: true,
  home,
  manifests: installed.map(({ manifest }) => manifest),
  env: { SLUICE_THREADS: String(threads), SLUICE_PROVIDERS: 'cpu' },
});
try {
  const voices = [
    platformVoice('sluice', platform, { model: kokoro, voice, streaming: false }),
    platformVoice('sluice, stream', platform, { model: kokoro, voice, streaming: true }),
    await bareVoice('bare', kokoro, { threads, voice }),
    await peerVoice(kokoro, { threads, voice }),
    platformVoice('sluice, tiny-tts', platform, { model: tiny, voice: 'male', streaming: true }),
    await bareVoice('bare, tiny-tts', tiny, { threads, voice: 'male' }),
  ];
  const results = await runInterleaved(voices.map(asContestant), {
    rounds: Number(values.rounds),
    warmups: 1,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  const ratios = Object.keys(benchTexts).flatMap((name): Ratio[] => {
    // The silences between sentences differ, what is computed does not: whole times, not times per second.
    const ms = (of: string): number => medianOf(results, of, `${name}Ms`);
    return [
      { name: `${name}: transformers.js / sluice, time`, value: ms('transformers.js') / ms('sluice'), aim: 1 },
      { name: `${name}: transformers.js / bare, time`, value: ms('transformers.js') / ms('bare'), aim: null },
      { name: `${name}: bare / sluice, time (1 is no overhead)`, value: ms('bare') / ms('sluice'), aim: 0.95 },
    ];
  });
  const settings = { rounds: values.rounds, threads, voice };
  const startedAt = new Date().toISOString();
  await publish(
    { bench: 'speech', startedAt, machine: machineFacts(), settings, results, ratios },
    values.json ?? null,
  );
} finally {
  await platform.stop();
}
process.exit(0);
