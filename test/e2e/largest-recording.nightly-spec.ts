import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { type LargestInput, recordingForm, testLargestInputs } from '#test/largest-inputs';
import { ServedPlatform } from '#test/served-platform';
import { installTinyWhisper } from '#test/tiny-speech';
import { paddedRecording, toneWav } from '#test/tone-recording';

let scratch: string;

const served = new ServedPlatform({ install: async (home) => [await installTinyWhisper(home)] });

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'sluice-recordings-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const inputs: LargestInput[] = [
  {
    // The host reads blocks of 30 s, so most may be silence, which is skipped; the worker decodes all of it.
    family: 'whisper: four hours, of which one minute is speech',
    model: 'tiny-whisper',
    path: '/audio/transcriptions',
    bodies: async () => {
      const speech = toneWav(60);
      const recording = (seconds: number) => paddedRecording(scratch, speech, { seconds });
      return [
        recordingForm('tiny-whisper', await recording(14_400)),
        recordingForm('tiny-whisper', await recording(14_410)),
      ];
    },
    refusal: { status: 413, message: /longer than 14400 seconds/ },
    maxPeak: 100,
    maxWorkerPeak: 300,
  },
];

describe('the largest recording', () => {
  testLargestInputs(inputs, served);
});
