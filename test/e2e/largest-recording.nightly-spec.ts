import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { type LargestInput, recordingForm, testLargestInputs } from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { installTinyWhisper } from '#test/tiny-speech';
import { installTinyTransducer } from '#test/tiny-transducer';
import { paddedRecording, toneWav } from '#test/tone-recording';

let scratch: string;

const served = new ServedPlatform({
  install: async (home) => [await installTinyWhisper(home), await installTinyTransducer(home)],
});

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'sluice-recordings-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** The host reads blocks of 30 s, so most may be silence, which is skipped; the worker decodes all of it. */
function fourHours(family: string, model: string): LargestInput {
  return {
    family,
    model,
    path: '/audio/transcriptions',
    bodies: async () => {
      const speech = toneWav(60);
      const recording = (seconds: number) => paddedRecording(scratch, speech, { seconds });
      return [recordingForm(model, await recording(14_400)), recordingForm(model, await recording(14_410))];
    },
    refusal: { status: 413, message: /longer than 14400 seconds/ },
    maxPeak: 100,
    maxWorkerPeak: 300,
  };
}

const inputs: LargestInput[] = [
  fourHours('whisper: four hours, of which one minute is speech', 'tiny-whisper'),
  fourHours('parakeet: four hours, of which one minute is speech', 'tiny-parakeet'),
];

describe('the largest recording', () => {
  testLargestInputs(inputs, served);
});
