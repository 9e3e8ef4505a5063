import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeWholeAudio, identifyMedia, MediaTools, probeAudio } from '#media';
import { mediaEngines } from '#test/media-engines';
import { type AudioForm, formLevel, makeAudioForms } from './audio-forms.js';

let folder: string;
let forms: AudioForm[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-audio-corpus-'));
  forms = await makeAudioForms(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function levelOf(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

/** Frames at the borders of joined and cut streams, and what encoders add. */
function toleranceOf({ seconds }: AudioForm): number {
  return 0.25 + seconds / 20;
}

describe.each(mediaEngines)('%s', (_name, engine) => {
  it('reads every form of the corpus completely, within the length that it reports', async () => {
    const tools = await MediaTools.find({ temporaryFolder: join(folder, 'temporary'), ...engine });
    const failures: string[] = [];
    for (const form of forms) {
      const source = { path: join(folder, form.name) };
      try {
        const { durationSeconds } = await probeAudio(tools, source, { maxSeconds: 14_400 });
        const maxSeconds = (durationSeconds ?? Number.NaN) + 2;
        const samples = await decodeWholeAudio(tools, source, { sampleRate: 16_000, maxSeconds });
        const decoded = samples.length / 16_000;
        const level = levelOf(samples) / formLevel;
        if (Math.abs((durationSeconds ?? 0) - form.seconds) > toleranceOf(form)) {
          failures.push(`${form.name}: ${durationSeconds} s reported instead of ${form.seconds}`);
        }
        if (Math.abs(decoded - form.seconds) > toleranceOf(form)) failures.push(`${form.name}: ${decoded} s decoded`);
        if (Math.abs(level - 1) > 0.15) failures.push(`${form.name}: level ${level}`);
      } catch (error) {
        failures.push(`${form.name}: ${String(error)}`);
      }
    }
    expect(failures).toEqual([]);
  });
});

describe('the corpus', () => {
  it('is identified by its bytes', async () => {
    for (const { name, bytes } of forms) {
      const { container } = await identifyMedia(bytes);
      expect([name, container]).toEqual([name, { m4a: 'mp4' }[name.split('.')[1] ?? ''] ?? name.split('.')[1]]);
    }
  });
});
