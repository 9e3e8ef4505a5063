import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { axeFindings, newContext, openView, signInWith, startBrowser, watchPage } from './browser.js';
import { chat, getJson } from './console-data.js';

/* What operators do to workers and models in the browser. */

const pool = 'own';
let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  const models = [{ id: 'tiny-llama' }, { id: 'tiny-other' }];
  [platform, browser] = await Promise.all([
    startPlatform({ models, unnamed: ['tiny-other'], env: { SLUICE_POOL: pool } }),
    startBrowser(),
  ]);
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
});

beforeEach(async () => {
  context = await newContext(browser);
  await signInWith(context, platform.origin, platform.adminKey);
  page = await context.newPage();
});

afterEach(() => context.close());

interface WorkerRow {
  state: string;
  running: number;
}

async function onlyWorker(): Promise<WorkerRow | undefined> {
  const { data } = await getJson<{ data: WorkerRow[] }>(platform, '/api/admin/v1/workers');
  return data[0];
}

describe('the first screen of the playground', () => {
  it('is ready for a model that is online, and names those that are not', async () => {
    await openView(page, platform.origin, 'playground');
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('tiny-llama');
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).not.toBe('');
    await page
      .getByRole('status')
      .getByText(/^Not online yet: [^,]+ \(text\)\. /)
      .waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });
});

describe('a worker', () => {
  it('that is drained takes no new jobs until it is resumed', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'queue');
    const worker = page.getByRole('article', { name: /^Worker / });
    await worker.getByRole('button', { name: 'Drain' }).click();
    await worker.getByText('drained', { exact: true }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect((await onlyWorker())?.state).toBe('drained');
    const answer = chat(platform, 'Hello [[tokens=3]]');
    const jobs = page.getByRole('table', { name: 'Jobs by model' });
    await jobs.getByRole('row').filter({ hasText: 'tiny-llama' }).waitFor();
    expect((await onlyWorker())?.running).toBe(0);
    await worker.getByRole('button', { name: 'Resume' }).click();
    expect((await answer).status).toBe(200);
    await worker.getByRole('button', { name: 'Drain' }).waitFor();
    await platform.closedJobs();
    expect(watch.problems()).toEqual([]);
  });
});

describe('a model', () => {
  const row = (id: string) =>
    page.getByRole('region', { name: 'Models of the registry' }).getByRole('row').filter({ hasText: id });
  const state = (id: string, text: string) => row(id).getByText(text, { exact: true });

  async function place(id: string): Promise<void> {
    await page.getByText('Place a model', { exact: true }).click();
    await page.getByLabel('Model', { exact: true }).selectOption(id);
    await page.getByLabel('Pool', { exact: true }).fill(pool);
    await page.getByLabel('Replicas').fill('1');
    await page.getByLabel('Pinned').check();
    await page.getByRole('button', { name: 'Place', exact: true }).click();
  }

  it('is placed in a pool, serves, and leaves it', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'models');
    await state('tiny-other', 'offline').waitFor();
    await place('tiny-other');
    await state('tiny-other', 'online').waitFor();
    expect(await row('tiny-other').textContent()).toContain(`${pool} ×1 (pinned)`);
    expect((await chat(platform, 'Hello [[tokens=3]]', { model: 'tiny-other' })).status).toBe(200);
    expect(await axeFindings(page)).toEqual([]);
    await row('tiny-other').getByRole('button', { name: 'Unplace tiny-other' }).click();
    await row('tiny-other').getByText('It leaves every pool.').waitFor();
    await row('tiny-other').getByRole('button', { name: 'Unplace', exact: true }).click();
    await state('tiny-other', 'offline').waitFor();
    expect(await platform.query(`SELECT 1 FROM model_placements WHERE model_id = 'tiny-other'`)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('is taken offline for every caller and brought back', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'models');
    await page.getByRole('button', { name: 'Take offline: tiny-llama' }).click();
    await state('tiny-llama', 'disabled').waitFor();
    await expect.poll(async () => (await chat(platform, 'Hello')).status).toBeGreaterThanOrEqual(400);
    await page.getByRole('button', { name: 'Bring online: tiny-llama' }).click();
    await state('tiny-llama', 'online').waitFor();
    await expect.poll(async () => (await chat(platform, 'Hello [[tokens=3]]')).status).toBe(200);
    await platform.closedJobs();
    expect(watch.problems()).toEqual([]);
  });

  it('is removed from the registry, and its files stay', async () => {
    await openView(page, platform.origin, 'models');
    await row('tiny-other').getByRole('button', { name: 'Remove tiny-other' }).click();
    await row('tiny-other').getByRole('button', { name: 'Remove', exact: true }).click();
    await row('tiny-other').waitFor({ state: 'detached' });
    expect(await platform.query(`SELECT 1 FROM models WHERE id = 'tiny-other'`)).toEqual([]);
    expect(existsSync(join(platform.home, 'models', 'tiny-other'))).toBe(true);
  });
});
