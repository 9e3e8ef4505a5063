import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pdfFile } from '#test/pdf-file';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { installTinyEncoder, tinyEncoderSize } from '#test/tiny-encoder';
import {
  axeFindings,
  colorRules,
  newContext,
  openView,
  phone,
  scrollsSideways,
  signInWith,
  startBrowser,
  watchPage,
} from './browser.js';
import { addHostileCharacter, addHostileDocument, hostile } from './console-data.js';

/* Writing characters in the browser of an operator, with an embedding model that is tiny and real. */

let home: string;
let platform: Platform;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [await installTinyEncoder(home)];
  [platform, browser] = await Promise.all([startPlatform({ engine: 'text', home, manifests }), startBrowser()]);
  await addHostileCharacter(platform);
  await addHostileDocument(platform);
});

afterAll(async () => {
  await browser?.close();
  await stopConsistently(platform);
  await rm(home, { recursive: true, force: true });
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

describe('the documents of a character', () => {
  const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });
  const table = () => page.getByRole('table', { name: 'Documents that it answers from' });
  const names = () => table().locator('tbody td:first-child').allTextContents();

  /** Adds a character and opens the form for its documents with the keyboard. */
  async function openForm(slug: string): Promise<void> {
    const response = await context.request.post(`${platform.origin}/api/admin/v1/characters/${slug}`, {
      headers: { authorization: `Bearer ${platform.adminKey}` },
      data: { name: slug, systemPrompt: 'Be brief.' },
    });
    expect(response.status()).toBe(200);
    await openView(page, platform.origin, `characters/${slug}`);
    await page.getByText('It has none.').waitFor();
    await page.getByText('Add documents', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Files', { exact: true }).waitFor();
  }

  it('are files and texts that the page adds one after the other, and removes', async () => {
    const watch = watchPage(page);
    await openForm('porter');
    expect(await axeFindings(page)).toEqual([]);
    const add = page.getByRole('button', { name: 'Add', exact: true });
    expect(await add.isDisabled()).toBe(true);
    // More numbers than the model reads at once.
    const numbers = file('numbers.csv', Buffer.from('1,2,3\n'.repeat(400)));
    const menu = file('menu.pdf', pdfFile(['Breakfast is from seven to ten.']));
    await page.getByLabel('Files', { exact: true }).setInputFiles([menu, numbers]);
    const requests: (() => void)[] = [];
    await page.route('**/documents', async (route) => {
      await new Promise<void>((resolve) => requests.push(resolve));
      await route.continue();
    });
    await add.click();
    await page.getByText('Adding menu.pdf, 1 of 2').waitFor();
    await page.getByLabel('Progress').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await expect.poll(() => requests.length).toBe(1);
    requests[0]?.();
    await page.getByText('Adding numbers.csv, 2 of 2').waitFor();
    await expect.poll(names).toEqual(['menu.pdf']);
    await expect.poll(() => requests.length).toBe(2);
    requests[1]?.();
    await page.getByRole('status').getByText('Done').waitFor();
    await page.unroute('**/documents');
    await expect.poll(names).toEqual(['menu.pdf', 'numbers.csv']);
    await page.getByText('Embedded by tiny-bert').waitFor();

    await page.getByLabel('Add', { exact: true }).selectOption('A text');
    await page.getByLabel('Text', { exact: true }).fill('The bar closes at one.');
    expect(await add.isDisabled()).toBe(true);
    await page.getByLabel('Name', { exact: true }).last().fill('bar.txt');
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeFindings(page, colorRules)).toEqual([]);
    }
    await page.keyboard.press('Enter');
    await expect.poll(names).toEqual(['bar.txt', 'menu.pdf', 'numbers.csv']);
    const passages = await platform.query<{ name: string; text: string; numbers: number }>(
      `SELECT d.name, p.text, cardinality(p.embedding)::int AS numbers
         FROM character_passages p JOIN character_documents d ON d.id = p.document_id
         JOIN characters c ON c.id = p.character_id WHERE c.slug = 'porter' ORDER BY d.name, p.position`,
    );
    expect(passages[0]).toEqual({ name: 'bar.txt', text: 'The bar closes at one.', numbers: tinyEncoderSize });
    expect(passages[1]?.text).toContain('Breakfast is from seven');
    expect(passages.every(({ numbers: count }) => count === tinyEncoderSize)).toBe(true);
    const charges = await platform.query<{ count: number }>('SELECT count(*)::int FROM holds WHERE charged_nano > 0');
    expect(charges).toEqual([{ count: 0 }]);

    await page.getByRole('button', { name: 'Remove menu.pdf' }).click();
    await table().getByText('Chats no longer cite it.').waitFor();
    await table().getByRole('button', { name: 'Remove', exact: true }).click();
    await expect.poll(names).toEqual(['bar.txt', 'numbers.csv']);
    await page.setViewportSize(phone);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    expect(watch.problems()).toEqual([]);
  });

  it('stay as they are where one cannot be added, and the page says which and why', async () => {
    const watch = watchPage(page, { allowed: [400, 404] });
    await openForm('bad-files');
    const add = page.getByRole('button', { name: 'Add', exact: true });
    const good = file('good.md', Buffer.from('The sauna is open.'));
    const broken = file('broken.pdf', Buffer.from('%PDF-1.7 and nothing else'));
    await page.getByLabel('Files', { exact: true }).setInputFiles([good, broken]);
    await add.click();
    await page.getByRole('alert').getByText('broken.pdf: file ').waitFor();
    await expect.poll(names).toEqual(['good.md']);
    await page.getByLabel('Files', { exact: true }).setInputFiles([file('blank.md', Buffer.from(' \n '))]);
    await page.getByLabel('Name', { exact: true }).last().fill(hostile);
    await add.click();
    await page.getByRole('alert').getByText(`${hostile}: file holds no text.`).waitFor();
    expect(await names()).toEqual(['good.md']);
    expect(await page.evaluate('window.taken')).toBeUndefined();
    await openForm('wrong-model');
    await page.getByLabel('Files', { exact: true }).setInputFiles([good]);
    await page.getByLabel('Embedding model').fill('nobody');
    await add.click();
    await page.getByRole('alert').getByText('nobody').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('Embedding model').fill('tiny-bert');
    await page.keyboard.press('Enter');
    await expect.poll(names).toEqual(['good.md']);
    expect(watch.problems()).toEqual([]);
  });
});
