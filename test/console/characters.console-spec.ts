import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
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
import { addHostileCharacter, addHostileDocument, hostile } from './console-data.js';

/* Writing characters in the browser of an operator. */

let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [platform, browser] = await Promise.all([startPlatform(), startBrowser()]);
  await addHostileCharacter(platform);
  await addHostileDocument(platform);
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

const stored = async (slug: string) =>
  (await platform.query<Record<string, unknown>>(`SELECT * FROM characters WHERE slug = $1`, [slug]))[0];

describe('a character', () => {
  it('is added, edited, reviewed and removed', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'characters');
    await page.getByText('Add a character', { exact: true }).click();
    await page.getByLabel('Slug').fill('night-porter');
    await page.getByLabel('Name', { exact: true }).fill('Night porter');
    await page.getByLabel('Tags').fill('hotel, night');
    await page.getByLabel('System prompt').fill('Be brief.');
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add character' }).click();
    await page.getByRole('table', { name: 'Characters' }).getByRole('link', { name: 'Night porter' }).click();
    expect(await stored('night-porter')).toMatchObject({ system_prompt: 'Be brief.', tags: ['hotel', 'night'] });

    await page.getByText('Edit', { exact: true }).click();
    await page.getByLabel('Greeting').fill('Good evening.');
    await page.getByLabel('Name', { exact: true }).fill('Porter');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 2, name: 'Porter', exact: true }).waitFor();
    const edited = { name: 'Porter', greeting: 'Good evening.', system_prompt: 'Be brief.', tags: ['hotel', 'night'] };
    expect(await stored('night-porter')).toMatchObject(edited);

    await page.getByText('Write a review', { exact: true }).click();
    await page.getByLabel('Rating').selectOption('4');
    await page.getByLabel('Message').fill('Polite.');
    await page.getByRole('button', { name: 'Review', exact: true }).click();
    const review = page.getByRole('table', { name: 'Reviews' }).getByRole('row').filter({ hasText: 'Polite.' });
    await review.getByText('4 of 5').waitFor();

    await page.getByRole('button', { name: 'Remove the character night-porter' }).click();
    await page.getByRole('button', { name: 'Remove the character', exact: true }).click();
    await page.getByText('Add a character', { exact: true }).waitFor();
    expect(await stored('night-porter')).toBeUndefined();
    expect(watch.problems()).toEqual([]);
  });

  it('shows why its texts are refused, and keeps them', async () => {
    const watch = watchPage(page, { allowed: [400] });
    await openView(page, platform.origin, 'characters');
    await page.getByText('Add a character', { exact: true }).click();
    await page.getByLabel('Slug').fill('Not a slug');
    await page.getByLabel('Name', { exact: true }).fill('Porter');
    await page.getByLabel('System prompt').fill('Be brief.');
    await page.getByRole('button', { name: 'Add character' }).click();
    await page.getByRole('alert').getByText('slug').waitFor();
    expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief.');
    expect(watch.problems()).toEqual([]);
  });

  it('shows the documents that it answers from, and loses them', async () => {
    const watch = watchPage(page);
    await openView(page, platform.origin, 'characters/hostile');
    const documents = page.getByRole('table', { name: 'Documents that it answers from' });
    await documents.getByRole('cell', { name: `${hostile}.txt`, exact: true }).waitFor();
    for (const summary of ['Edit', 'Write a review']) await page.getByText(summary, { exact: true }).click();
    expect(await page.getByLabel('System prompt').inputValue()).toBe(hostile);
    expect(await page.locator('main img, main b').count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize(phone);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    await page.getByRole('button', { name: 'Remove the documents' }).click();
    await page.getByText('Chats no longer cite them.').waitFor();
    await page.getByRole('button', { name: 'Remove the documents' }).click();
    await page.getByText('It has none.').waitFor();
    expect(await platform.query('SELECT 1 FROM character_documents')).toEqual([]);
    expect(await page.evaluate('window.taken')).toBeUndefined();
    expect(watch.problems()).toEqual([]);
  });
});
