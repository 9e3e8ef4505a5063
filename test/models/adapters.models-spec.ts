import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { DetectObjectsOutput, ReadTextOutput, RgbPixels } from '#inference/tasks';
import { decodeImage } from '#media';
import { type PageOptions, renderTextPage, type RenderedText } from '#test/text-image';
import { installedWeights } from './starter-weights.js';

/* The real models that turn images into text, on rendered text and on a photograph. */

const engines: TaskEngine[] = [];

/** Opens a model; the result runs one task on it. */
async function opened<Output extends object>(
  modelId: string,
  task: string,
): Promise<(image: RgbPixels) => Promise<Output>> {
  const { folder, manifest } = await installedWeights(modelId);
  let hear: (event: EngineEvent) => void = () => undefined;
  const options = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots: 1 });
  const { engine } = await loadFamilyEngine(options, (events) => events.forEach(([, event]) => hear(event)));
  engines.push(engine as TaskEngine);
  return (image) =>
    new Promise((resolve, reject) => {
      hear = (event) => {
        if (event.type === 'failed') reject(new Error(event.error.message));
        else if (event.type === 'task-finished') resolve(event.output as Output);
      };
      (engine as TaskEngine).submit({ id: 'one', task, input: { image } });
    });
}

afterAll(async () => {
  for (const engine of engines) await engine.close();
});

async function pixelsOf(bytes: Buffer): Promise<RgbPixels> {
  const { width, height, data } = await decodeImage(bytes, { channels: 3 });
  return { width, height, data };
}

const rendered = async (texts: readonly RenderedText[], options?: PageOptions) =>
  await pixelsOf(await renderTextPage(texts, options));

describe('PP-OCR', () => {
  let read: (image: RgbPixels) => Promise<ReadTextOutput>;
  const textsOf = ({ lines }: ReadTextOutput): string[] => lines.map(({ text }) => text);

  it('reads rendered lines in order, word for word', async () => {
    read = await opened<ReadTextOutput>('pp-ocr-v4', 'read-text');
    const image = await rendered([
      { text: 'Total due: 42.50', x: 60, y: 330, size: 36 },
      { text: 'Order 2024-117', x: 60, y: 90, size: 48 },
      { text: 'Payable within thirty days', x: 60, y: 210, size: 28 },
    ]);
    const output = await read(image);
    expect(textsOf(output)).toEqual(['Order 2024-117', 'Payable within thirty days', 'Total due: 42.50']);
  });

  it.each([
    ['small text', { text: 'Meet me at the station', x: 40, y: 60, size: 16 }, { width: 400, height: 120 }],
    ['text at an angle', { text: 'Fragile handle with care', x: 120, y: 200, size: 44, turn: 12 }, {}],
    ['text that stands on its head', { text: 'Upside down sign', x: 100, y: 250, size: 60 }, { quarters: 2 }],
    ['text that runs downwards', { text: 'Spine of a book', x: 100, y: 250, size: 60 }, { quarters: 1 }],
    ['text that runs upwards', { text: 'Spine of a book', x: 100, y: 250, size: 60 }, { quarters: 3 }],
  ])('reads %s', async (_, label, options) => {
    expect(textsOf(await read(await rendered([label], options)))).toEqual([label.text]);
  });

  it('finds no text in an image without any', async () => {
    expect(await read(await rendered([]))).toEqual({ lines: [] });
  });
});

describe('COCO-SSD', () => {
  it('finds the person of a portrait, where they are, and nothing on paper', async () => {
    const detect = await opened<DetectObjectsOutput>('coco-ssd', 'detect-objects');
    const bytes = await readFile(new URL('__fixtures__/portrait.png', import.meta.url));
    const { objects } = await detect(await pixelsOf(bytes));
    expect(objects.map(({ label }) => label)).toContain('person');
    expect((await detect(await rendered([]))).objects).toEqual([]);
  });
});
