import { availableParallelism } from 'node:os';
import type { GenerateInput } from '#inference/tasks';
import { bareSubject, type MediaWork, platformSubject } from './media/media-subjects.js';
import { installAll, serveModels } from './models.js';
import { type BenchSubjectResult, medianOf, type Ratio, runBench } from './report.js';
import { benchOptions, modelBenchOptions } from './settings.js';

const { home, threads, rounds, json } = benchOptions(
  `npm run bench -- generation [options]

An image of 512 by 512 from words, and four in one request: in the whole platform (drawing at 128 by 128, upscaling,
safety classifier, encoding), and in the drawing engine alone (pixels).`,
  modelBenchOptions,
);

const [pictogram, ...helpers] = await installAll(home, ['pictogram', 'esrgan-slim', 'nsfw-mobilenet']);
if (pictogram === undefined) throw new Error('pictogram could not be installed');
const prompt = 'a red apple';

function workOf(name: string, images: number): MediaWork {
  const input: GenerateInput = {
    prompt,
    negativePrompt: '',
    width: 128,
    height: 128,
    steps: 20,
    guidance: 4,
    seeds: Array.from({ length: images }, (_, index) => index + 1),
    image: null,
    strength: 1,
    mask: null,
  };
  return {
    name,
    model: pictogram as NonNullable<typeof pictogram>,
    task: 'generate',
    inputs: [input],
    job: { modality: 'image', payload: {}, images: [] },
    ask: async (platform) => {
      const body = { model: 'pictogram', prompt, seed: 1, variants: images, resolution: '512' };
      const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
      const response = await fetch(`${platform.baseUrl}/image/generate`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      const answer = await response.text();
      if (!response.ok) throw new Error(`${response.status}: ${answer}`);
    },
  };
}

const works = [workOf('one', 1), workOf('four', 4)];
const platform = await serveModels({ home, models: [pictogram, ...helpers], threads });
try {
  const subjects = [platformSubject(platform, works), await bareSubject(works, threads)];
  const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] => {
    const ratio = (subject: string, aim: number | null): Ratio => ({
      name: `${subject}: four / one, time`,
      value: medianOf(results, subject, 'fourMs') / medianOf(results, subject, 'oneMs'),
      aim,
      isLimit: true,
    });
    return [ratio('sluice', 2.5), ratio('bare', null)];
  };
  const settings = { rounds, threads, cores: availableParallelism() };
  await runBench({ name: 'generation', settings, subjects, rounds, ratiosOf, json });
} finally {
  await platform.stop();
}
process.exit(0);
