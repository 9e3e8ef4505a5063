import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { mapProse } from './prose.mjs';

/*
 * Pages of the site: everything in docs/, and what it links to elsewhere in the repository, at any distance. Paths are
 * relative to the repository and have forward slashes.
 */

const images = new Set(['.png', '.jpg', '.webp', '.svg']);
/** Links with a scheme, and those to a heading of the same page. */
const link = /\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?/g;

/**
 * Returns the pages, the images, the other linked files and the linked folders without a page of their own. Throws if a
 * page links to what does not exist.
 */
export function collectPages(root) {
  const found = { pages: new Map(), images: new Set(), files: new Set(), folders: new Set() };
  const waiting = markdownIn(root, 'docs');
  const seen = new Set(waiting);
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    waiting.push(path);
  };
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const text = readFileSync(join(root, path), 'utf8');
    found.pages.set(path, text);
    for (const [, target] of linksOf(text)) {
      const linked = posix.join(dirname(path), target).replace(/\/$/, '');
      addTarget({ root, path, linked, found, visit });
    }
  }
  return found;
}

function addTarget({ root, path, linked, found, visit }) {
  const kind = existsSync(join(root, linked)) ? statSync(join(root, linked)) : undefined;
  if (kind === undefined || linked.startsWith('..'))
    throw new Error(`${path} links to ${linked}, which does not exist.`);
  if (kind.isDirectory()) {
    const index = `${linked}/README.md`;
    if (existsSync(join(root, index))) return visit(index);
    found.folders.add(linked);
    return markdownIn(root, linked).forEach(visit);
  }
  if (extname(linked) === '.md') return visit(linked);
  (images.has(extname(linked)) ? found.images : found.files).add(linked);
}

/** Every link of a page outside its code. */
export function linksOf(text) {
  const links = [];
  mapProse(text, (prose) => (links.push(...prose.matchAll(link)), prose));
  return links;
}

/** The page with each of its links to files of the repository replaced by what `replace` returns for its target. */
export const withLinks = (text, replace) =>
  mapProse(text, (prose) => prose.replaceAll(link, (_all, target, anchor = '') => `](${replace(target)}${anchor}`));

function markdownIn(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) =>
      posix.join(...posix.relative(root, posix.join(entry.parentPath ?? entry.path, entry.name)).split('/')),
    )
    .toSorted();
}

/** Heading of a page. */
export const titleOf = (text) => /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? '';

/** Address of a path of the repository in the site, without its ending. The pages of docs/ are at the top. */
export function addressOf(path) {
  const place = path.startsWith('docs/') ? path.slice('docs/'.length) : `repository/${path}`;
  return place.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1index');
}
