import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder } from '#test/tiny-encoder';
import { installTinyImages } from '#test/tiny-images';
import { installTinyKokoro } from '#test/tiny-voice';
import { axeFindings, newContext, openView, signInWith, startBrowser, watchPage } from './browser.js';

/* Images, speech and vectors of the playground, in a real browser, by tiny models on the product's engines. */

let home: string;
let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [...(await installTinyImages(home)), await installTinyKokoro(home), await installTinyEncoder(home)];
  [platform, browser] = await Promise.all([startPlatform({ engine: 'text', home, manifests }), startBrowser()]);
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

describe('the playground', () => {
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
