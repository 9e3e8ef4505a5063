import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '#test/command-line';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { axeFindings, newContext, openView, phone, scrollsSideways, startBrowser, watchPage } from './browser.js';
import { chat } from './console-data.js';
import { PrefixProxy } from './prefix-proxy.js';

/* Signing in and out of the built console, in a real browser. */

let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [platform, browser] = await Promise.all([startPlatform(), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
});

beforeEach(async () => {
  context = await newContext(browser);
  page = await context.newPage();
});

afterEach(() => context.close());

const heading = (title: string) => page.getByRole('heading', { level: 1, name: title, exact: true });
const menu = () => page.getByRole('navigation', { name: 'Views' });

/** Opens the console as a user who is not signed in. */
async function openSignIn(origin = platform.origin, place = ''): Promise<void> {
  await page.goto(`${origin}/console/#/${place}`);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
}

async function enterKey(key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

describe('signing in', () => {
  it.each([true, false])('is a page without faults (dark: %s)', async (isDark) => {
    await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
    // Without a session, asking for one is answered with 401.
    const watch = watchPage(page, { allowed: [401] });
    await page.goto(platform.origin);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(page.url()).toBe(`${platform.origin}/console/`);
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize(phone);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    expect(watch.problems()).toEqual([]);
  });

  it('takes a key, keeps it nowhere in the browser, and lasts over a reload', async () => {
    await openSignIn();
    await enterKey(platform.adminKey);
    await heading('Overview').waitFor();
    const stored = '[document.cookie, JSON.stringify({ ...localStorage, ...sessionStorage }), location.href].join()';
    expect(await page.evaluate<string>(stored)).not.toMatch(/slk_|sluice_console_/);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ path: '/', httpOnly: true, sameSite: 'Strict' });
    expect(cookie?.value).not.toContain(platform.adminKey);
    await page.reload();
    await heading('Overview').waitFor();
  });

  it('says why a wrong key is refused, and then takes the right one', async () => {
    await openSignIn(platform.origin, 'limits');
    await enterKey('slk_wrong');
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/key/i);
    await enterKey(platform.inferenceKey);
    await heading('Limits').waitFor();
  });

  it('opens once with the link that the command line prints', async () => {
    const line = ['console', 'link', '--url', platform.origin, '--json'];
    const { link } = JSON.parse(await runCommandLine(line, { DATABASE_URL: platform.databaseUrl })) as { link: string };
    await page.goto(link);
    await heading('Overview').waitFor();
    expect(page.url()).toBe(`${platform.origin}/console/#/`);
    const other = await newContext(browser);
    try {
      const secondPage = await other.newPage();
      // The answer whether there is a session comes after that of the link.
      const refused = secondPage.waitForResponse((response) => response.request().method() === 'POST');
      await secondPage.route('**/console/session', async (route) => {
        if (route.request().method() === 'GET') await refused;
        await route.continue();
      });
      await secondPage.goto(link);
      await secondPage.getByRole('alert').waitFor();
      expect(secondPage.url()).not.toContain(link.split('/').at(-1));
    } finally {
      await other.close();
    }
  });
});

describe('a session', () => {
  it('ends by signing out, for every open page', async () => {
    await openSignIn();
    await enterKey(platform.adminKey);
    await heading('Overview').waitFor();
    const other = await context.newPage();
    await openView(other, platform.origin, 'limits');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    // The browser still has the cookie, which is worth nothing.
    expect((await context.request.get(`${platform.origin}/console/session`)).status()).toBe(401);
    await other.reload();
    await other.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('that ends leads to the sign-in page with a sentence, and back to the same view', async () => {
    await openSignIn(platform.origin, 'usage?range=30d&groupBy=model');
    await enterKey(platform.adminKey);
    await heading('Usage').waitFor();
    await context.clearCookies();
    await page.getByLabel('Group by').selectOption('key');
    await page.getByText('Your session has ended. Sign in again to continue.').waitFor();
    await enterKey(platform.adminKey);
    await heading('Usage').waitFor();
    expect(page.url()).toBe(`${platform.origin}/console/#/usage?range=30d&groupBy=key`);
    expect(await page.getByLabel('Group by').inputValue()).toBe('key');
  });

  it('survives an api that restarts under an open page, which says so meanwhile', async () => {
    await openSignIn();
    await enterKey(platform.adminKey);
    await page.getByRole('table', { name: 'Jobs by type' }).waitFor();
    await platform.kill('api');
    try {
      await page.getByText('The service does not answer.').waitFor();
      expect(await page.getByRole('table', { name: 'Jobs by type' }).isVisible()).toBe(true);
    } finally {
      await platform.start('api');
    }
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' });
    expect(await menu().isVisible()).toBe(true);
  });
});

describe('a page in several tabs', () => {
  it('is loaded by one of them for all', async () => {
    await openSignIn();
    await enterKey(platform.adminKey);
    const tabs = await Promise.all([1, 2, 3].map(() => context.newPage()));
    await Promise.all([page, ...tabs].map((tab) => openView(tab, platform.origin, 'overview')));
    const counts = [page, ...tabs].map((tab) => {
      const count = { requests: 0 };
      tab.on('request', (request) => {
        if (request.url().includes('/api/admin/v1/overview')) count.requests += 1;
      });
      return count;
    });
    const requests = () => counts.map((count) => count.requests).toSorted((left, right) => right - left);
    await expect.poll(() => requests()[0], { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    const [first = 0, ...others] = requests();
    expect(others.reduce((sum, count) => sum + count, 0)).toBeLessThan(first);
    // The others show what the one loaded: jobs that ended since.
    const answered = await chat(platform, 'Hello [[tokens=3]]');
    expect(answered.status).toBe(200);
    await platform.closedJobs();
    for (const tab of [page, ...tabs]) {
      const figure = tab.locator('main .figure').filter({ hasText: 'Requests, last hour' });
      await figure.getByRole('link', { name: '1', exact: true }).waitFor();
    }
  });
});

describe('under path prefixes that a proxy strips', () => {
  const prefixes = ['/one', '/some/deep-path'];
  let proxy: PrefixProxy;

  beforeAll(async () => {
    proxy = await PrefixProxy.start(platform.origin, prefixes);
  });

  afterAll(() => proxy?.close());

  it.each(prefixes)('%s has its redirect, its pages, its cookie and its links', async (prefix) => {
    const watch = watchPage(page, { allowed: [401] });
    await page.goto(`${proxy.origin}${prefix}/`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(page.url()).toBe(`${proxy.origin}${prefix}/console/`);
    await enterKey(platform.adminKey);
    await page.getByRole('table', { name: 'Jobs by type' }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie?.path).toBe(`${prefix}/`);
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Done', { exact: true }).waitFor();
    const documentation = page.getByRole('link', { name: 'API documentation' });
    expect(await documentation.getAttribute('href')).toBe(`${proxy.origin}${prefix}/docs`);
    expect(watch.problems()).toEqual([]);
  });

  it('two do not sign each other out', async () => {
    for (const prefix of prefixes) {
      await openSignIn(`${proxy.origin}${prefix}`);
      await enterKey(platform.adminKey);
      await heading('Overview').waitFor();
    }
    expect(await context.cookies()).toHaveLength(2);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    await openView(page, `${proxy.origin}${prefixes[0]}`, 'limits');
    await heading('Limits').waitFor();
  });
});

describe('two installations on one host', () => {
  let other: Platform;

  beforeAll(async () => {
    other = await startPlatform();
  });

  afterAll(() => stopConsistently(other));

  it('keep a session each, because browsers send cookies to every port', async () => {
    for (const { origin, adminKey } of [platform, other]) {
      await openSignIn(origin);
      await enterKey(adminKey);
      await heading('Overview').waitFor();
    }
    // The requests of the page of the other must have ended.
    await page.goto('about:blank');
    const watch = watchPage(page);
    expect(new Set((await context.cookies()).map(({ name }) => name)).size).toBe(2);
    await openView(page, platform.origin, 'limits');
    await heading('Limits').waitFor();
    expect(watch.problems()).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    await openView(page, other.origin, 'billing');
    await heading('Billing').waitFor();
  });
});
