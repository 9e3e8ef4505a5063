import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import {
  axeFindings,
  colorRules,
  desktop,
  newContext,
  openView,
  phone,
  scrollsSideways,
  signInWith,
  startBrowser,
  watchPage,
} from './browser.js';
import { addHostileCharacter, addTenant, addTraffic, chat, getJson, hostile } from './console-data.js';
import { hasScreenshots, takeScreenshot } from './screenshots.js';
import { entries, views } from './views.js';

/* Every view of the built console in a real browser, on a platform with traffic. */

let platform: Platform;
let browser: Browser;
let tenantKey: string;
let requestId: string;

beforeAll(async () => {
  [platform, browser] = await Promise.all([startPlatform(), startBrowser()]);
  tenantKey = await addTenant(platform);
  await addHostileCharacter(platform);
  await addTraffic(platform);
  const { data } = await getJson<{ data: { id: string }[] }>(platform, '/api/admin/v1/requests');
  requestId = data[0]?.id ?? '';
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
});

/** Runs with a signed-in page and closes it. */
async function withPage<Result>(
  { key = platform.adminKey },
  use: (page: Page, context: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const context = await newContext(browser);
  try {
    await signInWith(context, platform.origin, key);
    return await use(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

describe('for an operator', () => {
  const places = [...views.map(({ place }) => place), ...entries, 'requests/newest'];
  let context: BrowserContext;

  beforeAll(async () => {
    context = await newContext(browser);
    await signInWith(context, platform.origin, platform.adminKey);
  });

  afterAll(() => context?.close());

  it.each(places)('%s has no fault in light and dark, on a desktop and a phone', async (name) => {
    const place = name.replace('newest', requestId);
    const page = await context.newPage();
    const watch = watchPage(page);
    await openView(page, platform.origin, place);
    const title = views.find((view) => view.place === place.split(/[/?]/)[0])?.title ?? 'No such page';
    expect(await page.locator('main h1').textContent()).toBe(title);
    expect(await page.locator('main [role=alert], main .notice-error').allTextContents()).toEqual([]);
    expect(await axeFindings(page)).toEqual([]);
    await takeScreenshot(page, name, 'desktop-light');
    await page.setViewportSize(phone);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    await takeScreenshot(page, name, 'phone-light');
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await axeFindings(page, colorRules)).toEqual([]);
    await takeScreenshot(page, name, 'phone-dark');
    if (hasScreenshots) await page.setViewportSize(desktop);
    await takeScreenshot(page, name, 'desktop-dark');
    expect(await page.evaluate('window.taken')).toBeUndefined();
    expect(watch.problems()).toEqual([]);
    await page.close();
  });
});

describe('the menu', () => {
  it.each(['operator', 'admin', 'inference'])('of the role %s has the views of the role and no other', async (role) => {
    const key = { operator: platform.adminKey, admin: tenantKey, inference: platform.inferenceKey }[role];
    await withPage({ key }, async (page) => {
      const watch = watchPage(page);
      await openView(page, platform.origin, '');
      const titles = views.filter(({ roles }) => roles.includes(role)).map(({ title }) => title);
      expect(await page.locator('#menu li a').allTextContents()).toEqual([...titles, 'API documentation']);
      for (const title of titles) {
        await page.getByRole('link', { name: title, exact: true }).click();
        await page.getByRole('heading', { level: 1, name: title }).waitFor();
        await page.locator('main .state .spinner').first().waitFor({ state: 'detached' });
        expect(await page.locator('main [role=alert]').allTextContents()).toEqual([]);
      }
      expect(watch.problems()).toEqual([]);
      const hidden = views.find(({ roles }) => !roles.includes(role));
      await openView(page, platform.origin, hidden?.place ?? 'none');
      expect(await page.locator('main').textContent()).toContain('your key may not see it');
    });
  });

  it('opens and closes on a phone, and the chosen theme stays after a reload', async () => {
    await withPage({}, async (page) => {
      await page.setViewportSize(phone);
      await openView(page, platform.origin, 'limits');
      const menu = page.getByRole('button', { name: 'Menu' });
      await expect.poll(() => page.locator('#menu').isVisible()).toBe(false);
      await menu.click();
      expect(await menu.getAttribute('aria-expanded')).toBe('true');
      await page.getByLabel('Theme').selectOption('dark');
      await page.getByRole('link', { name: 'Health' }).click();
      await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor();
      expect(await page.locator('#menu').isVisible()).toBe(false);
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Health' }).waitFor();
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(21, 23, 28)');
    });
  });
});

interface Figures {
  requests: number;
  failed: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  spend: string;
}

describe('usage', () => {
  it('shows the figures of the Admin API, which lead to the requests behind them', async () => {
    const { total } = await getJson<{ total: Figures }>(
      platform,
      '/api/admin/v1/usage?tz=Europe/Rome&scope=installation',
    );
    expect(total.requests).toBeGreaterThan(0);
    await withPage({}, async (page) => {
      await openView(page, platform.origin, 'usage?groupBy=model');
      const row = page.locator('tfoot tr').first();
      const counts = [total.requests, total.failed, total.promptTokens, total.cachedTokens, total.completionTokens];
      const cells = await row.locator('td').allTextContents();
      expect(cells.slice(0, 5)).toEqual(counts.map((count) => count.toLocaleString('en-US')));
      expect(paddedAmount(cells[5] ?? '')).toBe(total.spend);
      await page.getByRole('link', { name: 'tiny-llama' }).first().click();
      await page.getByRole('table', { name: 'Requests, newest first' }).waitFor();
      expect(await page.locator('tbody tr').count()).toBe(total.requests + total.failed);
      expect(page.url()).toContain('model=tiny-llama');
    });
  });

  it('downloads as CSV with the same sum', async () => {
    const { total } = await getJson<{ total: Figures }>(
      platform,
      '/api/admin/v1/usage?tz=Europe/Rome&scope=installation',
    );
    await withPage({}, async (page) => {
      await openView(page, platform.origin, 'usage');
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: /CSV/ }).click(),
      ]);
      const chunks: Buffer[] = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toContain(total.spend);
    });
  });
});

/** `$0.00123` as the API writes it. */
function paddedAmount(text: string): string {
  const [whole = '', fraction = ''] = text.replaceAll(/[$,]/g, '').split('.');
  return `${whole}.${fraction.padEnd(9, '0')}`;
}

describe('a request', () => {
  it('is found by the id of its response, with its worker and its stages', async () => {
    const response = await chat(platform, 'Found again [[tokens=5]]');
    const id = response.headers.get('cf-ray') ?? '';
    await response.text();
    await platform.closedJobs();
    const { worker } = await getJson<{ worker: string | null }>(platform, `/api/admin/v1/requests/${id}`);
    expect(worker).toMatch(/^default\/worker-/);
    await withPage({}, async (page) => {
      const watch = watchPage(page);
      await openView(page, platform.origin, 'requests');
      await page.getByLabel('Request id').fill(id);
      await page.getByLabel('Request id').press('Enter');
      const rows = page.getByRole('table', { name: 'Requests, newest first' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(1);
      const titles = await page.locator('thead th').allTextContents();
      const cells = await rows.locator('td').allTextContents();
      const cellOf = (title: string) => cells[titles.findIndex((text) => text.startsWith(title))];
      expect(cellOf('Worker')).toBe(worker);
      for (const title of ['Queued', 'First token', 'Execution', 'Total'])
        expect(cellOf(title)).toMatch(/^[\d.]+ m?s$/);
      await rows.getByRole('link').click();
      await page.getByText('First token after').waitFor();
      const facts = page.locator('dl.details div');
      expect(
        await facts
          .filter({ hasText: /^Worker/ })
          .locator('dd')
          .textContent(),
      ).toBe(worker);
      expect(await facts.filter({ hasText: 'First token after' }).locator('dd').textContent()).toMatch(/^[\d.]+ m?s$/);
      expect(watch.problems()).toEqual([]);
    });
  });
});

describe('the alerts of the health view', () => {
  it('appear while the page is open, with their runbook, and go away', async () => {
    await withPage({}, async (page) => {
      const watch = watchPage(page);
      await openView(page, platform.origin, 'health');
      const rows = page.getByRole('table', { name: 'Alerts' }).locator('tbody tr');
      const row = rows.filter({ hasText: 'SluiceLedgerBroken' });
      expect(await row.count()).toBe(0);
      // Ops verifies when it starts and then once an hour.
      await platform.query(`UPDATE ledger_verification SET breaks = '{"wrongBalances": 1}'`);
      await row.waitFor();
      expect(await row.textContent()).toContain('firing');
      expect(await row.textContent()).toContain('wrongBalances is 1');
      expect(await row.locator('code').textContent()).toBe('docs/runbooks/ledger-broken.md');
      expect(await axeFindings(page)).toEqual([]);
      await platform.query(`UPDATE ledger_verification SET breaks = '{"wrongBalances": 0}'`);
      await row.waitFor({ state: 'detached' });
      expect(watch.problems()).toEqual([]);
    });
  });
});

describe('hostile text', () => {
  it.each([
    `requests?model=${encodeURIComponent(hostile)}&key=${encodeURIComponent(hostile)}&id=`,
    `usage?model=${encodeURIComponent(hostile)}`,
    `characters/${encodeURIComponent(hostile)}`,
    `requests/${encodeURIComponent(hostile)}`,
    encodeURIComponent(hostile),
    'requests/%',
  ])('of the address stays text: %s', async (place) => {
    await withPage({}, async (page) => {
      const watch = watchPage(page, { allowed: [400, 404] });
      await openView(page, platform.origin, place);
      expect(await page.evaluate('window.taken')).toBeUndefined();
      expect(await page.locator('main img, main b, main iframe, main script').count()).toBe(0);
      expect(watch.problems()).toEqual([]);
    });
  });

  it('of an account, a key, a character and a model name stays text', async () => {
    expect((await chat(platform, 'Hello', { model: hostile })).status).toBe(404);
    await withPage({ key: tenantKey }, async (page) => {
      const watch = watchPage(page);
      await openView(page, platform.origin, 'api-keys');
      expect(await page.locator('.account').textContent()).toContain(hostile);
      await page.getByLabel('Description').fill(hostile);
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByText('is shown only here').waitFor();
      await page.getByRole('cell', { name: hostile, exact: true }).waitFor();
      await openView(page, platform.origin, 'usage');
      await expect.poll(() => page.getByLabel('API key').textContent()).toContain(hostile);
      await openView(page, platform.origin, 'characters/hostile');
      expect(await page.locator('main').textContent()).toContain(hostile);
      expect(await page.locator('main img, main b').count()).toBe(0);
      expect(await page.evaluate('window.taken')).toBeUndefined();
      expect(watch.problems()).toEqual([]);
    });
  });
});
