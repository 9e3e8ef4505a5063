import type { InstalledModel } from '#model-store';
import { installAll, serveModels } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';
import { asSubject, bareTranscriber, peerTranscriber, platformTranscriber } from './transcription/subjects.js';
import { benchRecordings } from './transcription/recordings.js';

const { rounds, threads, words, home, json } = benchOptions(
  `npm run bench -- transcription [options]

Two recordings, 11 s and 90 s, transcribed by the whole platform, by our engine alone and by transformers.js with the
same weights, in turns; Moonshine, which the peer has no files for, beside them.`,
  { words: { about: 'with word timestamps' }, ...modelBenchOptions },
);

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
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] =>
    recordings.flatMap(({ name }): Ratio[] => {
      const ms = (of: string): number => medianOf(results, of, `${name}Ms`);
      return [
        { name: `${name}: transformers.js / sluice, time`, value: ms('transformers.js') / ms('sluice'), aim: 1 },
        { name: `${name}: transformers.js / bare, time`, value: ms('transformers.js') / ms('bare'), aim: null },
        { name: `${name}: bare / sluice, time (1 is no overhead)`, value: ms('bare') / ms('sluice'), aim: 0.95 },
      ];
    });
  const subjects = transcribers.map((transcriber) => asSubject(transcriber, recordings));
  await runBench({ name: 'transcription', settings: { rounds, threads, words }, subjects, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
