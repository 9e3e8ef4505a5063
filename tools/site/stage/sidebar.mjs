import { posix } from 'node:path';
import { addressOf, linksOf, titleOf } from './collect-pages.mjs';

/* Navigation from docs/README.md: a group for each of its headings, and in it one for each row of its table. */

const index = 'docs/README.md';

/** The groups of docs/README.md, and after them the pages that it does not name, by their folders. */
export function buildSidebar({ pages, reference }) {
  const placed = new Set([index]);
  const item = (path) => ({ text: titleOf(pages.get(path)), link: `/${addressOf(path)}` });
  const place = (path) => {
    if (!pages.has(path) || placed.has(path)) return [];
    placed.add(path);
    return [item(path)];
  };
  const groups = sectionsOf(pages.get(index)).map(({ title, text }) => ({
    text: title,
    collapsed: title !== 'Start',
    items: groupsOf(text).flatMap(({ name, paths }) => {
      const items = paths.flatMap(place);
      if (name === undefined || items.length === 0) return items;
      return [{ text: name, collapsed: true, items }];
    }),
  }));
  addReference(groups, reference);
  const byName = [...pages.keys()].toSorted((left, right) => left.localeCompare(right));
  for (const path of byName) addLeft({ groups, path, items: place(path) });
  return groups.filter(({ items }) => items.length > 0);
}

function sectionsOf(text) {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({ title: /^.*/.exec(section)[0], text: section }));
}

/** The links of a section: those of a row belong to the name in its first cell, if that is not a link itself. */
function groupsOf(text) {
  return text.split('\n').flatMap((line) => {
    const paths = linksOf(line).map(([, target]) => posix.join(posix.dirname(index), target));
    const name = /^\| ([^|[]+?) +\|/.exec(line)?.[1];
    return paths.length === 0 ? [] : [{ name, paths }];
  });
}

function addReference(groups, reference) {
  const items = [...reference].map(([page, text]) => ({ text: titleOf(text), link: `/api/${page}` }));
  const place = groups.findIndex(({ text }) => text === 'Reference');
  groups.splice(place + 1, 0, { text: 'API reference', collapsed: true, items });
}

/** Folders of docs/ whose pages docs/README.md names as a whole, and pages elsewhere in the repository. */
const leftGroups = [
  [/^docs\/runbooks\//, 'Runbooks'],
  [/^docs\/decisions\//, 'Decisions'],
  [/^docs\/guides\//, 'Guides'],
  [/^docs\//, 'Operate'],
  [/^bench\//, 'Measurements'],
  [/^/, 'Repository'],
];

function addLeft({ groups, path, items }) {
  if (items.length === 0) return;
  const [, text] = leftGroups.find(([pattern]) => pattern.test(path));
  let group = groups.find((one) => one.text === text);
  if (group === undefined) groups.push((group = { text, collapsed: true, items: [] }));
  group.items.push(...items);
}

/** The bar at the top: the first page of each of the main groups. */
export function buildNavigation(sidebar) {
  const shown = ['Start', 'Guides', 'Operate', 'API reference', 'Reference', 'Contribute'];
  return shown.flatMap((title) => {
    const group = sidebar.find(({ text }) => text === title);
    return group ? [{ text: title, link: firstLink(group) }] : [];
  });
}

const firstLink = (item) => item.link ?? firstLink(item.items[0]);
