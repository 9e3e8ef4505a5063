import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import { type EmbeddingPart, embeddingTask } from '#inference/tasks';
import { installedWeights } from './starter-weights.js';

/* The real text classifier. Its results come from the authors' own runtime. */

let engine: TaskEngine;
let hear: (event: EngineEvent) => void = () => undefined;

beforeAll(async () => {
  const { folder, manifest } = await installedWeights('toxicity-bert-tiny');
  const loaded = await loadFamilyEngine(
    hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots: 1 }),
    (events) => events.forEach(([, event]) => hear(event)),
  );
  engine = loaded.engine as TaskEngine;
});

afterAll(async () => {
  await engine?.close();
});

/** Returns the probability that each text is toxic. */
async function toxicity(texts: string[]): Promise<number[]> {
  return await new Promise((resolve, reject) => {
    hear = (event) => {
      if (event.type === 'failed') reject(new Error(event.error.message));
      if (event.type !== 'task-part') return;
      const { vectors, dimensions } = event.part as EmbeddingPart;
      resolve(texts.map((_text, index) => vectors[index * dimensions + 1] ?? NaN));
    };
    engine.submit({ id: 'one', task: embeddingTask, input: { texts, dimensions: null } });
  });
}

describe('the text classifier', () => {
  it('tells harmless from toxic texts', async () => {
    const harmless = await toxicity([
      'Have a lovely day, thank you for your help!',
      'How do I reset my password?',
      'Un petit bateau traverse la rivière.',
    ]);
    expect(Math.max(...harmless)).toBeLessThan(0.5);
    const toxic = await toxicity([
      'You are a stupid worthless idiot, I hate you',
      'Shut up and go kill yourself',
      "T'es vraiment un gros débile",
    ]);
    expect(Math.min(...toxic)).toBeGreaterThan(0.9);
  });

  it('finds a toxic sentence in a long text', async () => {
    const calm = 'The boat crosses the river, and the ferry waits at the pier until noon. '.repeat(60);
    const [without = 1, within = 0] = await toxicity([calm, `${calm} You stupid worthless idiot, I hate you. ${calm}`]);
    expect(without).toBeLessThan(0.9);
    expect(within).toBeGreaterThan(0.9);
  });
});
