import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildTinyKokoro, tinyKokoroVoices } from '#test/tiny-voice';
import type { EngineEvent } from '../../contract/engine.js';
import { type SpeakInput, type SpeakOutput, speakTask } from '../../engines/speech.js';
import type { TaskEngine } from '../../contract/task.js';
import { loadKokoroFamily } from './kokoro.family.js';

const perSymbol = 600;
const sampleRate = 24_000;

let folder: string;
let engine: TaskEngine;
const ends = new Map<string, (event: EngineEvent) => void>();
let runs = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-kokoro-'));
  const manifest = await buildTinyKokoro(folder);
  const loaded = await loadKokoroFamily(
    {
      modelId: manifest.id,
      directory: folder,
      graphFile: manifest.graphFile,
      family: 'kokoro',
      familyOptions: {},
      providers: ['cpu'],
      intraOpThreads: 1,
      slots: 4,
      contextLength: 0,
      cacheTokens: 0,
    },
    (events) => {
      for (const [id, event] of events) ends.get(id)?.(event);
    },
  );
  engine = loaded.engine as TaskEngine;
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

async function speak(input: Partial<SpeakInput>): Promise<EngineEvent> {
  const id = `run-${(runs += 1)}`;
  const whole: SpeakInput = {
    text: 'Hello world.',
    before: 'end',
    voice: 'af_sky',
    speed: 1,
    language: null,
    ...input,
  };
  return await new Promise((resolve) => {
    ends.set(id, resolve);
    engine.submit({ id, task: speakTask, input: whole });
  });
}

async function synthesize(input: Partial<SpeakInput>): Promise<SpeakOutput> {
  const event = await speak(input);
  expect(event).toMatchObject({ type: 'task-finished', cancelled: false });
  return (event as { output: SpeakOutput }).output;
}

/** Silence that surrounds every sentence. */
function around({ samples }: SpeakOutput): number {
  return samples.length;
}

describe('the Kokoro family', () => {
  it("synthesizes a sentence at the model's sample rate", async () => {
    const output = await synthesize({});
    expect(output.sampleRate).toBe(sampleRate);
    // həlˈO wˈɜɹld. with two pads, and the pause after the last sentence.
    const spoken = (13 + 2) * perSymbol;
    expect(around(output)).toBeGreaterThan(spoken);
    expect(around(output)).toBeLessThan(spoken + 0.2 * sampleRate);
  });

  it('lengthens speech at a slow pace, and pauses longer after a paragraph', async () => {
    const usual = around(await synthesize({}));
    expect(around(await synthesize({ speed: 0.5 }))).toBeGreaterThan(1.9 * usual);
    expect(around(await synthesize({ before: 'paragraph' }))).toBeGreaterThan(usual + 0.5 * sampleRate);
  });

  it('uses the style of the voice', async () => {
    const [quiet, loud] = await Promise.all(tinyKokoroVoices.map((voice) => synthesize({ voice })));
    const peak = (output?: SpeakOutput): number => Math.max(...(output?.samples ?? []));
    expect(peak(loud)).toBeGreaterThan(1.5 * peak(quiet));
  });

  it('returns no samples for text that cannot be pronounced', async () => {
    expect((await synthesize({ text: '你好 🚀' })).samples.length).toBe(0);
  });

  it('splits text that is too long for the graph', async () => {
    const output = await synthesize({ text: '9'.repeat(280) });
    expect(output.samples.length).toBeGreaterThan(600 * perSymbol);
  });

  it.each(['nobody', '../af_sky', { samples: new Float32Array(1), sampleRate }])(
    'rejects the voice %j',
    async (voice) => {
      expect(await speak({ voice })).toMatchObject({
        type: 'failed',
        error: { code: 'INVALID_REQUEST', param: 'voice' },
      });
    },
  );
});
