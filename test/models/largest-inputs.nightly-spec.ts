import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { jfkRecording } from '#test/jfk-recording';
import { endlessSentence, type LargestInput, recordingForm, testLargestInputs } from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { paddedRecording } from '#test/tone-recording';
import { installedWeights, weightsHome } from './starter-weights.js';

/* The largest input on real weights, as in largest-inputs.models-spec.ts, of the families that take minutes for it. */

let scratch: string;

const served = new ServedPlatform({
  home: weightsHome,
  install: async () => {
    const manifests = [];
    for (const id of ['moonshine-tiny', 'kokoro-82m', 'piper-en-us-joe', 'tiny-tts']) {
      manifests.push((await installedWeights(id)).manifest);
    }
    return manifests;
  },
});

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'sluice-recordings-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** Every block passes the detector of speech, and the first minute is speech. */
async function recordings(model: string): Promise<[object, object]> {
  const speech = await jfkRecording(weightsHome);
  const recording = (seconds: number) => paddedRecording(scratch, speech, { seconds, times: 6 });
  return [recordingForm(model, await recording(14_400)), recordingForm(model, await recording(14_410))];
}

const tooLong = { status: 413, message: /longer than 14400 seconds/ };

function speech(family: string, model: string, peaks: Pick<LargestInput, 'maxPeak' | 'maxWorkerPeak'>): LargestInput {
  const body = (characters: number) => ({ model, response_format: 'pcm', input: endlessSentence(characters) });
  return {
    family,
    model,
    path: '/audio/speech',
    bodies: () => Promise.resolve([body(4_096), body(4_097)]),
    refusal: { status: 400, message: /4096/ },
    ...peaks,
  };
}

const inputs: LargestInput[] = [
  {
    family: 'moonshine: four hours, of which one minute is speech',
    model: 'moonshine-tiny',
    path: '/audio/transcriptions',
    bodies: () => recordings('moonshine-tiny'),
    refusal: tooLong,
    maxPeak: 130,
    maxWorkerPeak: 100,
  },
  speech('kokoro: 4,096 characters without a full stop', 'kokoro-82m', { maxPeak: 280, maxWorkerPeak: 100 }),
  speech('piper: 4,096 characters without a full stop', 'piper-en-us-joe', { maxPeak: 700, maxWorkerPeak: 300 }),
  speech('tiny-tts: 4,096 characters without a full stop', 'tiny-tts', { maxPeak: 700, maxWorkerPeak: 300 }),
];

describe('the largest input on real weights, in minutes', () => {
  testLargestInputs(inputs, served);
});
