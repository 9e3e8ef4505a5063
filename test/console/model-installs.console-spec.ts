import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type InstallingPlatform, startInstallingPlatform } from '#test/installing-platform';
import { largeGraph } from '#test/large-model';
import type { Platform } from '#test/platform';
import type { WeightsServer } from '#test/weights-server';
import {
  axeFindings,
  newContext,
  openView,
  phone,
  scrollsSideways,
  signInWith,
  startBrowser,
  watchPage,
} from './browser.js';

/* Adding models in the browser of an operator. */

let installing: InstallingPlatform;
let hub: WeightsServer;
let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [installing, browser] = await Promise.all([startInstallingPlatform(), startBrowser()]);
  ({ hub, platform } = installing);
});

afterAll(async () => {
  await browser?.close();
  await installing?.close();
});

beforeEach(async () => {
  context = await newContext(browser);
  await signInWith(context, platform.origin, platform.adminKey);
  page = await context.newPage();
});

afterEach(() => context.close());

async function openForm(): Promise<void> {
  await openView(page, platform.origin, 'models');
  await page.getByText('Add a model', { exact: true }).click();
  await page.getByLabel('Reference').waitFor();
}

async function add(reference: string, { id = '', purpose = '', pooling = '', isPlaced = true } = {}): Promise<void> {
  await page.getByLabel('Reference').fill(reference);
  await page.getByLabel('Model id').fill(id);
  await page.getByLabel('Purpose').selectOption(purpose);
  await page.getByLabel('Pooling').selectOption(pooling);
  if (!isPlaced) await page.getByLabel('Serve it in the pool').selectOption('');
  await page.getByRole('button', { name: 'Add model' }).click();
}

const installation = (name: string, on = page) =>
  on.getByRole('region', { name: 'Installations' }).getByRole('row').filter({ hasText: name }).first();
const registered = (id: string) =>
  page.getByRole('region', { name: 'Models of the registry' }).getByRole('row').filter({ hasText: id });

describe('adding a model', () => {
  it('follows it until it is online, without a reload', async () => {
    const watch = watchPage(page);
    await openForm();
    await page.evaluate('window.sameDocument = true');
    await add('./tiny', { id: 'own-llama' });
    await installation('own-llama').getByText('installed', { exact: true }).waitFor();
    await registered('own-llama').getByText('online', { exact: true }).waitFor();
    expect(await page.evaluate<boolean>('window.sameDocument')).toBe(true);
    expect(watch.problems()).toEqual([]);
  });

  it('serves a decoder for the purpose and with the pooling that were chosen', async () => {
    const watch = watchPage(page);
    await openForm();
    await add('./tiny', { id: 'own-vectors', purpose: 'embedding', pooling: 'mean' });
    await registered('own-vectors').getByText('online', { exact: true }).waitFor();
    expect(await registered('own-vectors').getByRole('cell', { name: 'embedding', exact: true }).count()).toBe(1);
    const [row] = await platform.query<{ options: object }>(
      `SELECT manifest #> '{converter,options}' AS options FROM models WHERE id = 'own-vectors'`,
    );
    expect(row?.options).toMatchObject({ purpose: 'embedding', pooling: 'mean' });
    expect(watch.problems()).toEqual([]);
  });

  it('offers the catalog by kind, with size and license', async () => {
    await openForm();
    await page.getByLabel('Kind').selectOption('embedding');
    const options = await page.getByLabel('Model of the catalog').locator('option').allTextContents();
    expect(options.length).toBeGreaterThan(2);
    expect(options).toContainEqual(expect.stringMatching(/ – \d[\d.]* (MB|GB), (Apache-2\.0|MIT)/));
    await page.getByLabel('Model of the catalog').selectOption({ index: 1 });
    expect(await page.getByLabel('Reference').count()).toBe(0);
  });

  it('says why a reference is refused, and why an installation failed', async () => {
    const watch = watchPage(page, { allowed: [400] });
    await openForm();
    await add('../secret.gguf');
    await page.getByRole('alert').getByText('is not below').waitFor();
    await add('./missing');
    const failed = installation('./missing');
    await failed.getByText('There is no file or folder').waitFor();
    await failed.getByRole('button', { name: 'Try again: ./missing' }).waitFor();
    expect(watch.problems()).toEqual([]);
  });

  it('shows progress in every browser and after a reload; cancels, and resumes', async () => {
    hub.stalls.set(largeGraph, [1_000_000]);
    await openForm();
    // The hub has no graph of it, so no worker is to load it.
    await add('large', { isPlaced: false });
    await installation('large').getByText('1.0 MB of 3.0 MB').waitFor();
    await page.reload();
    await installation('large').getByText('1.0 MB of 3.0 MB').waitFor();
    const other = await newContext(browser);
    try {
      await signInWith(other, platform.origin, platform.adminKey);
      const second = await other.newPage();
      await openView(second, platform.origin, 'models');
      await installation('large', second).getByText('1.0 MB of 3.0 MB').waitFor();
      await second.getByRole('button', { name: 'Cancel large' }).click();
    } finally {
      await installation('large').getByText('cancelled', { exact: true }).waitFor();
      await other.close();
    }
    await page.getByRole('button', { name: 'Try again: large' }).click();
    await installation('large').getByText('installed', { exact: true }).waitFor();
    expect(hub.requestsOf(largeGraph).map(({ range }) => range)).toEqual([null, 'bytes=1000000-']);
  });

  it.each([false, true])('is a form without faults (dark: %s)', async (isDark) => {
    await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
    await openForm();
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize(phone);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
  });
});
