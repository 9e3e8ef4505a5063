import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, posix, relative } from 'node:path';
import MiniSearch from 'minisearch';

/* Checks of the built site, on its HTML, so that they see what a reader gets. */

/** Loads something when the page is shown: a script, a stylesheet, a font, an image. */
const loaded = /<(?:script|img|source|iframe|video|audio)\b[^>]*?\bsrc="([^"]+)"|<link\b[^>]*?\bhref="([^"]+)"/g;
const imported = /url\(\s*["']?([^"')]+)/g;

/** Returns what is wrong: links to pages, headings and files that do not exist, and anything from another host. */
export function findFaults(folder, base) {
  const files = filesIn(folder);
  const known = new Set(files);
  const texts = new Map(files.filter((path) => path.endsWith('.html')).map((path) => [path, read(folder, path)]));
  const anchors = new Map([...texts].map(([path, text]) => [path, idsIn(text)]));
  const faults = [];
  for (const [path, text] of texts) {
    for (const [, href] of text.matchAll(/<a\b[^>]*?\bhref="([^"]+)"/g)) {
      const fault = linkFault({ path, href: unescaped(href), base, known, anchors });
      if (fault) faults.push(`${path}: ${fault}`);
    }
    for (const [, source, style] of text.matchAll(loaded)) {
      const address = unescaped(source ?? style);
      const fault = isElsewhere(address) ? `loads ${address}` : fileFault({ path, address, base, known });
      if (fault) faults.push(`${path}: ${fault}`);
    }
  }
  for (const path of files.filter((name) => name.endsWith('.css'))) {
    for (const [, address] of read(folder, path).matchAll(imported))
      if (isElsewhere(address) && !address.startsWith('data:')) faults.push(`${path}: loads ${address}`);
  }
  return [...new Set(faults)];
}

/** The best page for words, from the index that the search of the site loads. */
export function searchSite(folder, words) {
  const chunk = filesIn(folder).find((path) => /@localSearchIndexroot\..*\.js$/.test(path));
  if (chunk === undefined) throw new Error('The site has no search index.');
  // The chunk exports the index as one string.
  const literal = /^const \w+=(['"`])([^]*)\1;?\s*export/.exec(read(folder, chunk));
  if (literal === null) throw new Error(`${chunk} is not a search index that this check can read.`);
  const [, quote, text] = literal;
  const index = MiniSearch.loadJSON(unquoted(text, quote), {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
  });
  return index.search(words, { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } });
}

/** The value of a string literal of JavaScript, without running it. */
function unquoted(text, quote) {
  const escapes = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', 0: '\0' };
  if (quote === '`' && /(?<!\\)\$\{/.test(text)) throw new Error('The search index is not a plain string.');
  return text.replaceAll(/\\(u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|\n|[^])/gi, (_all, code) => {
    if (/^[ux]./.test(code)) return String.fromCodePoint(Number.parseInt(code.replaceAll(/[ux{}]/g, ''), 16));
    return code === '\n' ? '' : (escapes[code] ?? code);
  });
}

const read = (folder, path) => readFileSync(join(folder, path), 'utf8');
const isElsewhere = (address) => /^(?:[a-z]+:)?\/\//.test(address);
const idsIn = (text) => new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => unescaped(id)));
const unescaped = (text) => text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(folder, join(entry.parentPath ?? entry.path, entry.name))
        .split('\\')
        .join('/'),
    );
}

function linkFault({ path, href, base, known, anchors }) {
  if (/^[a-z]+:/.test(href)) return undefined;
  const [address, anchor = ''] = href.split('#');
  const target = address === '' ? path : targetOf({ path, address, base });
  if (target === undefined || !known.has(target)) return `links to ${address}, which does not exist`;
  const ids = anchors.get(target);
  return anchor === '' || ids === undefined || ids.has(decodeURIComponent(anchor))
    ? undefined
    : `links to ${target}#${anchor}, which is no heading`;
}

function fileFault({ path, address, base, known }) {
  if (address.startsWith('data:')) return undefined;
  const target = targetOf({ path, address, base });
  return target !== undefined && known.has(target) ? undefined : `loads ${address}, which does not exist`;
}

/** The file of the site behind an address; undefined for one outside of `base`. */
function targetOf({ path, address, base }) {
  const [plain] = address.split('?');
  if (plain.startsWith('/') && !plain.startsWith(base)) return undefined;
  const target = plain.startsWith('/')
    ? plain.slice(base.length)
    : posix.join(posix.dirname(path), plain).replace(/^\.\//, '');
  if (target === '' || target.endsWith('/')) return `${target}index.html`;
  return basename(target).includes('.') ? decodeURIComponent(target) : `${target}.html`;
}
