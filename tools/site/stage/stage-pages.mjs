import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, posix } from 'node:path';
import { stringify } from 'yaml';
import { buildReference } from './api/api-reference.mjs';
import { addressOf, collectPages, titleOf, withLinks } from './collect-pages.mjs';
import { buildNavigation, buildSidebar } from './sidebar.mjs';

/** Writes to `folder` what VitePress builds: the pages, and its settings. Returns how many pages there are. */
export function stagePages({ root, folder, document, settings }) {
  const { pages, images, files, folders } = collectPages(root);
  const reference = buildReference(document);
  const sidebar = buildSidebar({ pages, reference });
  const write = openFolder(folder);
  for (const [path, text] of pages) write(`${addressOf(path)}.md`, relink({ path, text, images, folders }));
  for (const path of folders) write(`${addressOf(path)}/index.md`, listFolder(path, pages));
  for (const path of files) write(`${addressOf(path)}.md`, showFile(path, readFileSync(join(root, path), 'utf8')));
  for (const [page, text] of reference) write(`api/${page}.md`, `${text}\n`);
  for (const path of images) copy(join(root, path), join(folder, 'public', addressOf(path)));
  write('public/openapi.json', JSON.stringify(document, null, 2));
  write('public/openapi.yaml', stringify(document, { aliasDuplicateObjects: false }));
  write('settings.json', JSON.stringify({ ...settings, navigation: buildNavigation(sidebar), sidebar }));
  return pages.size + files.size + folders.size + reference.size;
}

/** Empties a folder and returns a function that writes files to it. */
function openFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
  return (path, text) => {
    const place = join(folder, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text);
  };
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}

/** A page with its links as they are in the site. VitePress adds the base path of the site to each. */
function relink({ path, text, images, folders }) {
  return withLinks(text, (target) => {
    const linked = posix.join(dirname(path), target).replace(/\/$/, '');
    return images.has(linked) ? `/${addressOf(linked)}` : `/${linkedAddress(linked, folders)}.md`;
  });
}

function linkedAddress(linked, folders) {
  if (folders.has(linked)) return `${addressOf(linked)}/index`;
  return addressOf(extname(linked) === '' && linked.includes('/') ? `${linked}/README.md` : linked);
}

/** A page that lists the pages of a folder. */
function listFolder(path, pages) {
  const inside = [...pages]
    .filter(([page]) => dirname(page) === path)
    .toSorted(([left], [right]) => left.localeCompare(right));
  const name = basename(path);
  const title = name[0].toUpperCase() + name.slice(1);
  const lines = inside.map(([page, text]) => `- [${titleOf(text)}](./${basename(page)})`);
  return `# ${title}\n\n${lines.join('\n')}\n`;
}

const languages = { '.mjs': 'js', '.py': 'python', '.yaml': 'yaml', '.json': 'json' };

/** A page that shows a file of the repository. The search leaves it out. */
function showFile(path, text) {
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `---\nsearch: false\n---\n\n# \`${path}\`\n\n${fence}${languages[extname(path)] ?? 'text'}\n${text}\n${fence}\n`;
}
