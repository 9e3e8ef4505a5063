import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyWhisper, tinyWhisperSeconds, tinyWhisperText, tinyWhisperTranslation } from '#test/tiny-speech';
import { RecognizerRun } from '../../../../../test/conformance/families/recognizer-run.js';
import { loadWhisperFamily } from './whisper.family.js';

const rate = 16_000;

function tone(seconds: number): Float32Array {
  return Float32Array.from({ length: seconds * rate }, (_, index) => 0.3 * Math.sin(index / 9));
}

/** Returns audio with speech between `from` and `to` seconds and silence around it. */
function audioWithin(seconds: number, from: number, to: number): Float32Array {
  const samples = new Float32Array(seconds * rate);
  samples.set(tone(to - from), from * rate);
  return samples;
}

describe('the Whisper family', () => {
  let folder: string;
  let run: RecognizerRun;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-whisper-'));
    run = await RecognizerRun.load(loadWhisperFamily, folder, await buildTinyWhisper(folder));
  });

  afterAll(async () => {
    await run.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('transcribes speech from where it starts', async () => {
    const { segments, consumedSamples, heardSpeech, memory } = await run.recognize({
      samples: audioWithin(10, 4, 8),
      timestamps: 'segment',
    });
    expect(segments.map(({ text }) => text)).toEqual([` ${tinyWhisperText}`]);
    // Speech is padded by a fifth of a second, because words begin quietly.
    expect(segments[0]?.start).toBeCloseTo(3.8, 1);
    expect(segments[0]?.end).toBeCloseTo(3.8 + tinyWhisperSeconds, 1);
    expect({ consumedSamples, heardSpeech, memory }).toEqual({
      consumedSamples: 10 * rate,
      heardSpeech: true,
      memory: { language: 'en', tail: [] },
    });
  });

  it('writes a translation on request', async () => {
    const { segments, memory } = await run.recognize({ samples: tone(4), timestamps: 'segment', translate: true });
    expect(segments.map(({ text }) => text)).toEqual([` ${tinyWhisperTranslation}`]);
    expect(memory.language).toBe('en');
  });

  it('reports when each word was spoken, in order and within the audio', async () => {
    const { segments } = await run.recognize({ samples: tone(4), timestamps: 'word' });
    const words = segments.flatMap((segment) => segment.words ?? []);
    expect(words.map(({ word }) => word).join(' ')).toBe(tinyWhisperText);
    for (const [index, { start, end, probability }] of words.entries()) {
      expect(start).toBeGreaterThanOrEqual(words[index - 1]?.end ?? 0);
      expect(end).toBeLessThanOrEqual(4);
      expect(probability).toBeGreaterThan(0.9);
    }
    // The attention of this model advances by a fifth of a second per token.
    const starts = words.map(({ start }) => start);
    for (const [index, start] of starts.entries()) {
      if (index > 1) expect(start - (starts[index - 1] ?? 0)).toBeCloseTo(0.2, 1);
    }
  });

  it('finds no speech in silence, in audio that is below the threshold with the largest gain, and in empty audio', async () => {
    const quiet = tone(3).map((sample) => sample * 1e-5);
    for (const samples of [new Float32Array(3 * rate), quiet, new Float32Array(0)]) {
      const { segments, heardSpeech, consumedSamples } = await run.recognize({ samples });
      expect({ segments, heardSpeech, consumedSamples }).toEqual({
        segments: [],
        heardSpeech: false,
        consumedSamples: samples.length,
      });
    }
  });

  it('requests more audio for a sentence that begins late in a block that is not the last', async () => {
    const { segments, consumedSamples } = await run.recognize({ samples: audioWithin(30, 20, 30), isLast: false });
    expect(segments).toEqual([]);
    expect(consumedSamples / rate).toBeCloseTo(19.8, 1);
  });

  it('ignores a language hint that it does not know', async () => {
    const { memory } = await run.recognize({ samples: tone(2), language: 'xx' });
    expect(memory.language).toBe('en');
    expect((await run.recognize({ samples: tone(2), language: 'de' })).segments[0]?.text).toContain('upon');
  });

  it('stops within one step of a cancel', async () => {
    const before = run.steps();
    const cancelled = run.recognize({ samples: tone(20) }, (cancel) => cancel());
    await expect(cancelled).rejects.toThrow('cancelled');
    expect(run.steps() - before).toBeLessThanOrEqual(2);
  });

  it('rejects a model without the name of its decoder', async () => {
    const manifest = await buildTinyWhisper(folder);
    await expect(RecognizerRun.load(loadWhisperFamily, folder, { ...manifest, familyOptions: {} })).rejects.toThrow(
      /decoderFile/,
    );
  });
});
