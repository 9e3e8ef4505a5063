// Builds the site: `node build-site.mjs <OpenAPI document> <folder> <base path>`. `npm run site` runs it after it has
// installed the packages of this folder.
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { findFaults, searchSite } from './check-site.mjs';
import { stagePages } from './stage/stage-pages.mjs';

/** Words that a reader would type, and the page that must be among the first three. */
const searches = {
  'rolling upgrade': '/operate/upgrading.html',
  'reservations not closed': '/runbooks/reservations-not-closed.html',
  'count the input tokens of a response': '/api/responses-alpha.html',
};

const here = dirname(fileURLToPath(import.meta.url));
const [documentPath, folder, base] = process.argv.slice(2);
const count = stagePages({
  root: resolve(here, '../..'),
  folder: join(here, 'pages'),
  document: JSON.parse(readFileSync(documentPath, 'utf8')),
  settings: { base, outDir: folder },
});
// It fails for a link to a page that does not exist. The checks below also see headings, images and other hosts.
await build(here);

const notFound = Object.entries(searches).flatMap(([words, page]) => {
  const found = searchSite(folder, words).slice(0, 3);
  return found.some(({ id }) => id.split('#')[0] === `${base}${page.slice(1)}`)
    ? []
    : [`The search for "${words}" does not find ${page}, but ${found.map(({ id }) => id).join(', ')}.`];
});
const faults = [...findFaults(folder, base), ...notFound];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`${count} pages, searchable, in ${folder}`);
