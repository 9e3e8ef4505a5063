import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeImage } from '#media';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyImages } from '#test/tiny-images';
import { installTinyReranker } from '#test/tiny-reranker';
import { installTinyWhisper, tinyWhisperText } from '#test/tiny-speech';
import { installTinyInterpolator } from '#test/tiny-video';
import { installTinyKokoro } from '#test/tiny-voice';
import { toneWav } from '#test/tone-recording';
import { axeFindings, fakeMicrophone, newContext, openView, signInWith, startBrowser, watchPage } from './browser.js';

/*
 * Images, speech, recordings, videos and vectors of the playground, in a real browser, by tiny models on the product's
 * engines.
 */

let home: string;
let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    ...(await installTinyImages(home)),
    await installTinyKokoro(home),
    await installTinyEncoder(home),
    await installTinyReranker(home, 'tiny-bert-reranker'),
    await installTinyWhisper(home),
    await installTinyInterpolator(home),
  ];
  [platform, browser] = await Promise.all([
    startPlatform({ engine: 'text', home, manifests }),
    startBrowser(fakeMicrophone),
  ]);
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
  await rm(home, { recursive: true, force: true });
});

beforeEach(async () => {
  context = await newContext(browser);
  await signInWith(context, platform.origin, platform.inferenceKey);
  page = await context.newPage();
});

afterEach(() => context.close());

/** A PNG of one color, as a file that a user chooses. */
async function imageFile(name: string, color: readonly [number, number, number]) {
  const [width, height] = [96, 64];
  const data = Uint8Array.from({ length: width * height * 3 }, (_, index) => color[index % 3] ?? 0);
  const buffer = await encodeImage({ width, height, channels: 3, data }, { format: 'png' });
  return { name, mimeType: 'image/png', buffer };
}

/** The color of an image of the page, at shares of its width and its height. */
async function colorAt(name: string, [x, y]: readonly [number, number]): Promise<number[]> {
  return page.evaluate<number[]>(`(() => {
    const image = document.querySelector('img[alt=${JSON.stringify(name)}]');
    const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return [...context.getImageData(${x} * canvas.width, ${y} * canvas.height, 1, 1).data].slice(0, 3);
  })()`);
}

describe('the playground', () => {
  it.each(['images', 'speech', 'embeddings', 'rerank'])('lets %s ask only a model of the list', async (view) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/v1/models?*', async (route) => {
      await held;
      await route.continue();
    });
    await openView(page, platform.origin, `playground/${view}`);
    const submit = page.locator('button.primary');
    await submit.first().waitFor();
    expect(await page.locator('button.primary:enabled').count()).toBe(0);
    release();
    await expect.poll(() => submit.first().isEnabled()).toBe(true);
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('draws an image', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/images');
    await page.getByRole('textbox', { name: 'Prompt' }).first().fill('a red apple');
    await page.getByRole('button', { name: 'Generate' }).click();
    const image = page.getByRole('img', { name: 'a red apple' });
    await image.waitFor();
    await expect.poll(() => image.evaluate((element) => Reflect.get(element, 'naturalWidth'))).toBeGreaterThan(0);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('repairs the part of an image that was painted by hand, and no other', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/images');
    const form = page.getByRole('region', { name: 'Change an image' });
    await form.getByLabel('Model').selectOption('tiny-repair');
    await form.getByLabel('Image', { exact: true }).setInputFiles(await imageFile('sky.png', [20, 60, 220]));
    const canvas = form.getByRole('img', { name: 'The image, with the painted part marked' });
    await canvas.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await canvas.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(x + width * 0.2, y + height * 0.3);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.3, y + height * 0.5, { steps: 4 });
    await page.mouse.up();
    await form.getByRole('button', { name: 'Change the image' }).click();
    await form.getByRole('img', { name: 'After' }).waitFor();
    await form.getByRole('status').getByText('Done').waitFor();
    const [painted, kept] = [await colorAt('After', [0.25, 0.4]), await colorAt('After', [0.8, 0.8])];
    for (const [index, value] of [128, 128, 128].entries()) expect(painted[index]).toBeCloseTo(value, -1);
    for (const [index, value] of [20, 60, 220].entries()) expect(kept[index]).toBeCloseTo(value, -1);
    expect(await colorAt('Before', [0.25, 0.4])).toEqual([20, 60, 220]);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('speaks a text', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/speech');
    await page.getByRole('button', { name: 'Speak' }).click();
    const player = page.getByLabel('The spoken text');
    await player.waitFor();
    await expect.poll(() => player.evaluate((element) => Reflect.get(element, 'duration'))).toBeGreaterThan(0);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('writes down a file, with the times of its parts', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/transcription');
    const file = { name: 'talk.wav', mimeType: 'audio/wav', buffer: toneWav(3) };
    await page.getByLabel('Recording', { exact: true }).setInputFiles(file);
    await page.getByRole('button', { name: 'Transcribe' }).click();
    const transcript = page.getByRole('region', { name: 'Transcript' });
    await transcript.locator('p').getByText(tinyWhisperText).waitFor();
    expect(await transcript.getByRole('table').locator('tbody tr').count()).toBeGreaterThan(0);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('writes down what the microphone hears', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/transcription');
    await page.getByRole('button', { name: 'Record the microphone' }).click();
    await page.getByText('Recording', { exact: true }).and(page.getByRole('status')).waitFor();
    expect(await page.getByRole('button', { name: 'Transcribe' }).isDisabled()).toBe(true);
    // The device beeps once per second.
    await page.waitForTimeout(2_500);
    await page.getByRole('button', { name: 'Stop recording' }).click();
    await page.getByLabel('The recording').waitFor();
    await page.getByRole('button', { name: 'Transcribe' }).click();
    await page.getByRole('region', { name: 'Transcript' }).locator('p').getByText(tinyWhisperText).waitFor();
    expect(watch.problems()).toEqual([]);
  });

  it('queues a video, shows how far it is after a reload too, and plays it', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/jobs');
    await page.getByRole('textbox', { name: 'Prompt' }).fill('It becomes light.');
    await page.getByLabel('Duration').fill('10s');
    const frames = [await imageFile('first.png', [0, 0, 0]), await imageFile('last.png', [255, 255, 255])];
    await page.getByLabel('First and last image, or a video').setInputFiles(frames);
    await page.getByRole('button', { name: 'Queue' }).click();
    const job = page.getByRole('article', { name: 'Job of tiny-rife' });
    await job.getByLabel('Progress').waitFor();
    await page.reload();
    await job.getByText('It becomes light.').waitFor();
    const video = job.getByLabel('The video');
    await video.waitFor();
    await expect.poll(() => video.evaluate((element) => Reflect.get(element, 'duration'))).toBeCloseTo(10, 0);
    expect(await axeFindings(page)).toEqual([]);
    await job.getByRole('button', { name: 'Delete the result' }).click();
    await job.waitFor({ state: 'detached' });
    expect(watch.problems()).toEqual([]);
  });

  it('queues a long text, shows how far it is after a reload too, plays it and saves it', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/jobs');
    await page.getByLabel('Kind').selectOption('Long speech');
    const chapter = 'Hello world. Good morning. One two three. '.repeat(100);
    await page.getByLabel('Text', { exact: true }).fill(`The first chapter. ${chapter}`);
    await page.getByRole('button', { name: 'Queue' }).click();
    const job = page.getByRole('article', { name: 'Job of tiny-kokoro' });
    await job.getByLabel('Progress').waitFor();
    await page.reload();
    await job.getByText('The first chapter.').waitFor();
    const player = job.getByLabel('The audio');
    await player.waitFor();
    await expect.poll(() => player.evaluate((element) => Reflect.get(element, 'duration'))).toBeGreaterThan(60);
    expect(await player.evaluate((element) => Reflect.get(element, 'error'))).toBeNull();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      job.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('audio.mp3');
    // A tag, or the first frame.
    expect((await readFile(await download.path())).toString('latin1', 0, 3)).toMatch(/^(?:ID3|\u00FF[\u00E0-\u00FF])/);
    expect(await axeFindings(page)).toEqual([]);
    await job.getByRole('button', { name: 'Delete the result' }).click();
    await job.waitFor({ state: 'detached' });
    expect(watch.problems()).toEqual([]);
  });

  it('sorts documents by how well they answer a question', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/rerank');
    await page.getByRole('button', { name: 'Rank' }).click();
    const rows = page.getByRole('table', { name: 'Documents, most relevant first' }).locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(3);
    const cells = await Promise.all([0, 1, 2].map((index) => rows.nth(index).locator('td').allTextContents()));
    const scores = cells.map(([score]) => Number(score));
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    const documents = (await page.getByLabel('Documents', { exact: true }).inputValue()).split('\n');
    for (const [, line, document] of cells) expect(documents[Number(line) - 1]).toBe(document);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('compares texts by their vectors', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground/embeddings');
    await page.getByRole('button', { name: 'Compare' }).click();
    const table = page.getByRole('table');
    await table.waitFor();
    const cells = await table.locator('td').allTextContents();
    expect(cells).toHaveLength(9);
    expect([cells[0], cells[4], cells[8]]).toEqual(['1.000', '1.000', '1.000']);
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });
});
