import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { InstalledModel } from '#model-store';
import { installAll, serveModels } from './models.js';
import { type ContestantResult, medianOf, type Ratio, runBench } from './report.js';
import { asContestant, bareTranscriber, peerTranscriber, platformTranscriber } from './transcription/contestants.js';
import { benchRecordings } from './transcription/recordings.js';

const help = `node dist/bench/transcription.js [options]

Two recordings, 11 s and 90 s, written down by the whole platform, by our engine alone and by transformers.js with the
same weights, in turns; Moonshine, which the peer has no files for, beside them.

  --rounds N     measured rounds, default 5
  --threads N    threads of every model, default 2
  --words        with the times of words
  --home DIR     keeps weights between runs, default ~/.cache/sluice-test
  --json PATH    also write the report there
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    words: { type: 'boolean', default: false },
    home: { type: 'string', default: join(homedir(), '.cache', 'sluice-test') },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}

const { words, home } = values;
const [rounds, threads] = [Number(values.rounds), Number(values.threads)];

const recordings = await benchRecordings(home);
const installed = await installAll(home, ['whisper-tiny', 'moonshine-tiny']);
const [whisper, moonshine] = installed as [InstalledModel, InstalledModel];
const platform = await serveModels({ home, models: installed, threads });
try {
  const transcribers = [
    platformTranscriber('sluice', platform, whisper.manifest.id, words),
    await bareTranscriber('bare', whisper, { threads, words }),
    await peerTranscriber(whisper, { threads, words }),
    platformTranscriber('sluice, moonshine', platform, moonshine.manifest.id, words),
    await bareTranscriber('bare, moonshine', moonshine, { threads, words }),
  ];
  const ratiosOf = (results: readonly ContestantResult[]): Ratio[] =>
    recordings.flatMap(({ name }): Ratio[] => {
      const ms = (of: string): number => medianOf(results, of, `${name}Ms`);
      return [
        { name: `${name}: transformers.js / sluice, time`, value: ms('transformers.js') / ms('sluice'), aim: 1 },
        { name: `${name}: transformers.js / bare, time`, value: ms('transformers.js') / ms('bare'), aim: null },
        { name: `${name}: bare / sluice, time (1 is no overhead)`, value: ms('bare') / ms('sluice'), aim: 0.95 },
      ];
    });
  const contestants = transcribers.map((transcriber) => asContestant(transcriber, recordings));
  const json = values.json ?? null;
  await runBench({ name: 'transcription', settings: { rounds, threads, words }, contestants, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
