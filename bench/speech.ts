import type { InstalledModel } from '#model-store';
import { installAll, serveModels } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';
import { benchTexts } from './speech/texts.js';
import { asSubject, bareVoice, peerVoice, platformVoice } from './speech/voices.js';

const { home, threads, rounds, json } = benchOptions(
  `npm run bench -- speech [options]

A sentence and a page of twelve, spoken by Kokoro in the whole platform (whole and as a stream), in our engine alone and in
transformers.js with the same weights and symbols, in turns; TinyTTS, which the peer does not know, beside them.`,
  modelBenchOptions,
);
const voice = 'af_sky';

const installed = await installAll(home, ['kokoro-82m', 'tiny-tts']);
const [kokoro, tiny] = installed as [InstalledModel, InstalledModel];
const platform = await serveModels({ home, models: installed, threads });
try {
  const voices = [
    platformVoice('sluice', platform, { model: kokoro, voice, streaming: false }),
    platformVoice('sluice, stream', platform, { model: kokoro, voice, streaming: true }),
    await bareVoice('bare', kokoro, { threads, voice }),
    await peerVoice(kokoro, { threads, voice }),
    platformVoice('sluice, tiny-tts', platform, { model: tiny, voice: 'male', streaming: true }),
    await bareVoice('bare, tiny-tts', tiny, { threads, voice: 'male' }),
  ];
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] =>
    Object.keys(benchTexts).flatMap((name): Ratio[] => {
      // Compares total times, not times per second: the pauses between sentences differ, the computation does not.
      const ms = (of: string): number => medianOf(results, of, `${name}Ms`);
      return [
        { name: `${name}: transformers.js / sluice, time`, value: ms('transformers.js') / ms('sluice'), aim: 1 },
        { name: `${name}: transformers.js / bare, time`, value: ms('transformers.js') / ms('bare'), aim: null },
        { name: `${name}: bare / sluice, time (1 is no overhead)`, value: ms('bare') / ms('sluice'), aim: 0.95 },
      ];
    });
  const subjects = voices.map(asSubject);
  await runBench({ name: 'speech', settings: { rounds, threads, voice }, subjects, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
