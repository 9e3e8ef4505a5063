import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelFolder } from '#model-store';
import { installTinyToxicity } from '#test/tiny-images';
import type { EngineEvent } from '../../contract/engine.js';
import { type EmbeddingPart, embeddingTask } from '../../embedding/index.js';
import { hostLoadOptions } from '../../host/index.js';
import type { TaskEngine } from '../../contract/task.js';
import { loadTextClassificationFamily } from './text-classification.family.js';

let home: string;
let engine: TaskEngine;
let hear: (event: EngineEvent) => void;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifest = await installTinyToxicity(home, 'rotten');
  const options = hostLoadOptions(
    { manifest, directory: modelFolder(home, manifest.id) },
    { providers: ['cpu'], threads: 1, slots: 1 },
  );
  const loaded = await loadTextClassificationFamily(options, (events) => events.forEach(([, event]) => hear(event)));
  engine = loaded.engine as TaskEngine;
});

afterAll(async () => {
  await engine?.close();
  await rm(home, { recursive: true, force: true });
});

async function classify(texts: string[]): Promise<number[]> {
  let part: EmbeddingPart | null = null;
  await new Promise<void>((resolve, reject) => {
    hear = (event) => {
      if (event.type === 'task-part') part = event.part as EmbeddingPart;
      if (event.type === 'task-finished') resolve();
      if (event.type === 'failed') reject(new Error(event.error.message));
    };
    engine.submit({ id: 'one', task: embeddingTask, input: { texts, dimensions: null } });
  });
  const { vectors, dimensions } = part as unknown as EmbeddingPart;
  return texts.map((_text, index) => Math.round((vectors[index * dimensions + 1] ?? NaN) * 100) / 100);
}

describe('a text classifier', () => {
  it('gives each text the probabilities of its classes, whatever the case of its words', async () => {
    expect(await classify(['a', 'rotten', 'a ROTTEN!', 'rottenness', 'unknown words'])).toEqual([0, 1, 1, 0, 0]);
  });

  it('finds a word anywhere in a text that is longer than its window', async () => {
    const long = 'a '.repeat(40);
    expect(await classify([long, `${long}rotten ${long}`, `${long}rotten`])).toEqual([0, 1, 1]);
  });
});
