import { readFileSync } from 'node:fs';
import { slugOf } from '../stage/slug.mjs';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const { base, outDir, navigation, sidebar } = read('../pages/settings.json');
const { description } = read('../../../package.json');

/** Settings of VitePress. `npm run site` writes the pages first. Nothing is loaded from other hosts. */
export default {
  title: 'Sluice',
  description,
  lang: 'en',
  srcDir: 'pages',
  base,
  outDir,
  markdown: { anchor: { slugify: slugOf } },
  // The index of the search is one chunk.
  vite: { build: { chunkSizeWarningLimit: 4096 } },
  themeConfig: {
    nav: navigation,
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
};
