import OpenAI from 'openai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { isInstalled, proxyConfigurations, ReverseProxy } from '#test/reverse-proxies';
import { stopConsistently } from '#test/stop-consistently';
import { newContext, startBrowser, watchPage } from './browser.js';

/* The platform behind each configuration of deploy/proxies, with two api replicas: chats, the console and the reference. */

let platform: Platform;
let browser: Browser;

beforeAll(async () => {
  // Without a health port that is the same for both, the proxies check the port that they forward to.
  const env = { SLUICE_API_PUBLIC_HEALTH: 'true' };
  [platform, browser] = await Promise.all([startPlatform({ replicas: { api: 2 }, env }), startBrowser()]);
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
});

/** The published text with the addresses of the replicas. */
function withReplicas(text: string): string {
  const [first = '', second = ''] = platform.origins.map((origin) => new URL(origin).host);
  return text
    .replaceAll('10.0.0.11:3000', first)
    .replaceAll('10.0.0.12:3000', second)
    .replaceAll(/^\s*health_port 3003\n|(?<=check) port 3003/gm, '');
}

const chosen = proxyConfigurations.filter(isInstalled);

describe.each(chosen.map((proxy) => [proxy.file, proxy] as const))(
  'behind deploy/proxies/%s',
  (_file, configuration) => {
    let proxy: ReverseProxy;
    let context: BrowserContext;
    let page: Page;
    /** Where callers find the platform. */
    let address: string;

    beforeAll(async () => {
      proxy = await ReverseProxy.start(configuration, withReplicas);
      address = `http://127.0.0.1:${proxy.port}${configuration.prefix}`;
      const isReady = async () => expect((await fetch(`${address}/api/v1/models`)).status).toBe(200);
      await vi.waitFor(isReady, { timeout: 30_000, interval: 100 });
    });

    afterAll(() => proxy?.stop());

    beforeEach(async () => {
      context = await newContext(browser);
      page = await context.newPage();
    });

    afterEach(() => context.close());

    it('a chat streams, and a pause of the model is not a pause of the response', async () => {
      const client = new OpenAI({ apiKey: platform.inferenceKey, baseURL: `${address}/api/v1`, maxRetries: 0 });
      const stream = await client.chat.completions.create({
        model: 'tiny-llama',
        messages: [{ role: 'user', content: 'Hello [[tokens=6 delay=100]]' }],
        stream: true,
      });
      const arrivals: number[] = [];
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) arrivals.push(performance.now());
      expect(arrivals.length).toBeGreaterThanOrEqual(4);
      // A proxy that buffers delivers all at once, in the end.
      expect((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)).toBeGreaterThan(200);
    });

    it('the console signs in, keeps its session over both replicas and chats', async () => {
      const watch = watchPage(page, { allowed: [401] });
      // Without the slash: the redirect must lead below the same path.
      await page.goto(`${address}/console`);
      await page.getByLabel('API key').fill(platform.adminKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('table', { name: 'Jobs by type' }).waitFor();
      expect(page.url()).toBe(`${address}/console/`);
      expect((await context.cookies()).map(({ path }) => path)).toEqual([`${configuration.prefix}/`]);
      for (let count = 0; count < 4; count++)
        expect((await context.request.get(`${address}/console/session`)).status()).toBe(200);
      await page.getByRole('link', { name: 'Playground' }).click();
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Done', { exact: true }).waitFor();
      expect(watch.problems()).toEqual([]);
    });

    it('the reference of the API opens, and its requests arrive', async () => {
      const watch = watchPage(page);
      // With a slash, it is sent to the address without one.
      await page.goto(`${address}/docs/`);
      expect(page.url()).toBe(`${address}/docs`);
      await page.getByText('Find models, their names, limits and prices.').waitFor();
      await page.locator('#operations-Models-listModels .opblock-summary-control').click();
      await page.getByRole('button', { name: 'Try it out' }).click();
      await page.getByRole('button', { name: 'Execute' }).click();
      await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).first().waitFor();
      expect(await page.locator('.request-url pre').textContent()).toContain(`${address}/api/v1/models`);
      expect(watch.problems()).toEqual([]);
      await page.getByRole('link', { name: 'Open the console' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      expect(page.url()).toBe(`${address}/console/`);
    });
  },
);
