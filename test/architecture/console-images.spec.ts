import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentedLooks } from '../console/views.js';
import { readText, repositoryFiles, root } from './repository-files.js';

const folder = 'docs/images/console/';
const maxBytes = { each: 60_000, together: 1_000_000 };

describe('the images of the console', () => {
  const images = repositoryFiles.filter((path) => path.startsWith(folder));
  const expected = Object.entries(documentedLooks).flatMap(([view, looks]) =>
    looks.map((look) => `${folder}${view}-${look}.webp`),
  );

  it('are those that the suite takes for the documentation, and each is shown', () => {
    expect(images.toSorted()).toEqual(expected.toSorted());
    const page = readText('docs/guides/console-views.md');
    const shown = [...page.matchAll(/\]\(\.\.\/(images\/console\/[\w-]+\.webp)\)/g)].map(([, path]) => `docs/${path}`);
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  it('are small: a clone has each version of them', () => {
    const sizes = images.map((path) => ({ path, bytes: statSync(join(root, path)).size }));
    expect(sizes.filter(({ bytes }) => bytes > maxBytes.each)).toEqual([]);
    expect(sizes.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(maxBytes.together);
  });
});
