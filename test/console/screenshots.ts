import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { decodeImage, encodeImage } from '#media';
import { documentedLooks, type Look } from './views.js';

/** Images of the views are written here: `npm test -- console --screenshots <folder>`. */
const folder = process.env.SLUICE_TEST_SCREENSHOTS;
/** Only what the documentation shows, as much as fits on a screen: `--documented`. */
const isForDocuments = process.env.SLUICE_TEST_SCREENSHOTS_SET === 'documented';

export const hasScreenshots = folder !== undefined;

/** Writes an image of a view as WebP, where they were asked for. */
export async function takeScreenshot(page: Page, view: string, look: Look): Promise<void> {
  if (folder === undefined) return;
  if (isForDocuments && documentedLooks[view]?.includes(look) !== true) return;
  const png = await page.screenshot({ fullPage: !isForDocuments });
  const limits = { maxPixels: 100_000_000, maxBytes: 100_000_000 };
  const webp = await encodeImage(await decodeImage(png, { channels: 3, ...limits }), { format: 'webp', quality: 80 });
  await writeFile(join(folder, `${view.replaceAll(/[^a-z-]+/g, '-')}-${look}.webp`), webp);
}
