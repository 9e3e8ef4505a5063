import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { axeFindings, newContext, openView, signInWith, startBrowser, watchPage } from './browser.js';
import { chat, getJson } from './console-data.js';

/* What users do on the pages of the built console: chats and keys, in a real browser. */

let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [platform, browser] = await Promise.all([
    startPlatform({ models: [{ id: 'tiny-llama' }, { id: 'tiny-other' }] }),
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

async function ask(content: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(content);
  await page.getByRole('button', { name: 'Send' }).click();
}

const figure = (name: string) =>
  page
    .locator('.answer-figures div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .locator('dd');

describe('a chat', () => {
  it('has a prompt ready, streams, and shows its rate, its times and its cost', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground');
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).not.toBe('');
    await ask('Hello there [[tokens=60 delay=40]]');
    await page.getByText('Answering', { exact: true }).waitFor();
    // The live rate, while the answer grows.
    await figure('Tokens/s').waitFor();
    expect(await page.getByText('Answering', { exact: true }).isVisible()).toBe(true);
    await page.getByText('Done', { exact: true }).waitFor();
    const answer = await page.getByRole('group', { name: 'Answer', exact: true }).textContent();
    expect(answer?.split(' ')).toHaveLength(60);
    expect(await figure('Output').textContent()).toBe('60');
    expect(Number(await figure('Tokens/s').textContent())).toBeGreaterThan(1);
    expect(await figure('First token').textContent()).toMatch(/ m?s$/);
    const cost = await figure('Cost').textContent();
    expect(cost).toMatch(/^\$0\.0*[1-9]/);
    expect(await axeFindings(page)).toEqual([]);
    await platform.closedJobs();
    await figure('Request').getByRole('link').click();
    await page.getByRole('table', { name: 'Ledger entries' }).waitFor();
    const spend = page.locator('.details div').filter({ has: page.getByText('Spend', { exact: true }) });
    expect(await spend.locator('dd').textContent()).toBe(cost);
    expect(await page.locator('main').textContent()).not.toContain('Hello there');
    expect(watch.problems()).toEqual([]);
  });

  it('shows reasoning, goes on while another view is open, and can be stopped', async () => {
    await openView(page, platform.origin, 'playground');
    await ask('Think [[think=5 tokens=400 delay=40]]');
    await page.getByText('Answering', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Limits' }).click();
    await page.getByRole('heading', { level: 1, name: 'Limits' }).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByText('Answering', { exact: true }).waitFor();
    await page.getByText('Reasoning', { exact: true }).click();
    const reasoning = page.getByRole('group', { name: 'Reasoning' });
    expect((await reasoning.textContent())?.split(' ').length).toBeGreaterThan(2);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await platform.closedJobs();
  });

  it('asks two models side by side', async () => {
    await openView(page, platform.origin, 'playground');
    await page.getByLabel('Compare two models').check();
    await ask('Both [[tokens=6]]');
    await expect.poll(() => page.getByText('Done', { exact: true }).count()).toBe(2);
    const models = page.getByLabel('Model', { exact: true });
    expect(await models.first().inputValue()).not.toBe(await models.last().inputValue());
    expect(await axeFindings(page)).toEqual([]);
  });

  it('says why an answer failed', async () => {
    await openView(page, platform.origin, 'playground');
    await ask('Fails [[fail=3]]');
    await page.getByText('Failed', { exact: true }).waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('INFERENCE_FAILED');
  });
});

/** Each line tries to run a script, to load something or to leave the page. */
const attacks = [
  '### Title',
  '<script>window.taken=1</script>',
  '<img src=x onerror="window.taken=1">',
  '<iframe srcdoc="<script>parent.taken=1</script>"></iframe>',
  '<svg onload="window.taken=1">',
  '![image](https://127.0.0.1:9/pixel.png)',
  '![image](x" onerror="window.taken=1)',
  '[script](javascript:window.taken=1)',
  '[mixed](JaVaScRiPt:window.taken=1)',
  '[page](data:text/html,<script>window.taken=1</script>)',
  '[file](vbscript:x)',
  '<javascript:window.taken=1>',
  '| a | b |',
  '| - | - |',
  '| <b onclick="window.taken=1">c</b> | [x](javascript:window.taken=1) |',
  '',
  '```html"><img src=x onerror=window.taken=1>',
  '</code></pre><script>window.taken=1</script>',
  '```',
  '',
  '[fine](https://example.org/a?b=1)',
].join('\n');

describe('an answer', () => {
  it('of markup and hostile links is shown as text, and only its safe links are links', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground');
    await ask(`${attacks}\n[[echo]]`);
    await page.getByText('Done', { exact: true }).waitFor();
    const answer = page.getByRole('group', { name: 'Answer', exact: true });
    await answer.getByRole('link', { name: 'fine' }).waitFor();
    // An image is a link, because loading it could send text of the chat to another host.
    expect(await answer.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
      'https://127.0.0.1:9/pixel.png',
      'https://example.org/a?b=1',
    ]);
    const link = answer.getByRole('link', { name: 'fine' });
    expect(await link.getAttribute('rel')).toContain('noopener');
    const forbidden = 'script, img, iframe, svg, b, [onclick], [onerror], [onload], [style]';
    expect(await page.locator('main').locator(forbidden).count()).toBe(0);
    const text = (await answer.textContent()) ?? '';
    expect(text).toContain('<script>window.taken=1</script>');
    expect(text).toContain('<img src=x onerror="window.taken=1">');
    expect(await page.locator('.question').textContent()).toContain('<svg onload="window.taken=1">');
    expect(await page.evaluate('window.taken')).toBeUndefined();
    expect(await axeFindings(page)).toEqual([]);
    expect(watch.problems()).toEqual([]);
  });

  it('that calls a tool shows name and input as text', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'playground');
    await page.getByText('System prompt, sampling, tools').click();
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    await page.getByLabel('Tools', { exact: true }).fill(JSON.stringify(tools));
    const input = '<img src=x onerror=window.taken=1>';
    await ask(`<tool_call>{"name":"look","arguments":{"a":"${input}"}}</tool_call> [[echo]]`);
    await page.getByText('Call of look').waitFor();
    expect(await page.locator('.tool-call pre').textContent()).toContain(input);
    expect(await page.locator('main img').count()).toBe(0);
    expect(watch.problems()).toEqual([]);
  });
});

describe('an API key', () => {
  it('is shown once, works, and is refused after it is revoked', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'api-keys');
    await page.getByLabel('Description').fill('Made in a browser');
    await page.getByLabel('Limit in USD').fill('2.5');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = (await page.locator('code.secret').textContent()) ?? '';
    expect(key).toMatch(/^slk_/);
    const row = page.getByRole('row').filter({ hasText: 'Made in a browser' });
    await row.waitFor();
    expect(await row.textContent()).toContain('$2.50 per day (UTC)');
    expect(await axeFindings(page)).toEqual([]);
    expect((await chat(platform, 'Hello [[tokens=3]]', { key })).status).toBe(200);
    await page.reload();
    await row.waitFor();
    expect(await page.content()).not.toContain(key);
    await row.getByRole('button', { name: 'Revoke Made in a browser' }).click();
    await row.getByText('Its requests fail from now on.').waitFor();
    await row.getByRole('button', { name: 'Revoke', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    await expect.poll(async () => (await chat(platform, 'Hello', { key })).status).toBe(401);
    const { data } = await getJson<{ data: { description: string }[] }>(platform, '/api/v1/api_keys');
    expect(data.map(({ description }) => description)).not.toContain('Made in a browser');
    expect(watch.problems()).toEqual([]);
  });
});
