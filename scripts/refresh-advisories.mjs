#!/usr/bin/env node
// `npm run advisories -- refresh`: writes the advisories of the packages in package-lock.json to `advisories/`, from
// the database behind OSV_URL (default https://api.osv.dev). It needs a network; `npm run advisories -- check` needs none.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { lockedName } from './locked-name.mjs';
import { root } from './steps.mjs';

const about =
  'npm run advisories -- refresh [options]\n\nWrites the advisories of the packages in a lockfile, from the database behind OSV_URL.';
const { values } = readCommandLine(about, {
  lock: { value: 'FILE', about: 'lockfile', default: resolve(root, 'package-lock.json') },
  advisories: { value: 'DIR', about: 'folder of the advisories', default: resolve(root, 'advisories') },
});
const address = process.env.OSV_URL ?? 'https://api.osv.dev';
const folder = values.advisories;
const perQuery = 500;

const { packages } = JSON.parse(readFileSync(values.lock, 'utf8'));
const queries = Object.entries(packages)
  .filter(([path, { version, link }]) => path.includes('node_modules/') && version !== undefined && !link)
  .map(([path, entry]) => ({
    version: entry.version,
    package: { ecosystem: 'npm', name: lockedName(path, entry) },
  }));

const ids = new Set();
for (let from = 0; from < queries.length; from += perQuery) {
  let open = queries.slice(from, from + perQuery);
  while (open.length > 0) {
    const { results } = await ask('/v1/querybatch', { queries: open });
    for (const { vulns = [] } of results) for (const { id } of vulns) ids.add(id);
    open = open.flatMap((query, index) => {
      const token = results[index]?.next_page_token;
      return token ? [{ ...query, page_token: token }] : [];
    });
  }
}

// Everything is read before anything is replaced.
const advisories = [];
for (const id of [...ids].toSorted((left, right) => (left < right ? -1 : 1)))
  advisories.push(await ask(`/v1/vulns/${encodeURIComponent(id)}`));
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (name.endsWith('.json')) rmSync(resolve(folder, name));
for (const { id, summary, modified, withdrawn, affected, references } of advisories) {
  if (!/^[\w.-]+$/.test(id)) throw new Error(`The advisory has an unusable id: ${id}`);
  const ofNpm = affected?.filter(({ package: each }) => each?.ecosystem === 'npm');
  write(`${id}.json`, { id, summary, modified, withdrawn, affected: ofNpm, references });
}
write('state.json', { refreshed: new Date().toISOString().slice(0, 10), packages: queries.length });
console.log(`${advisories.length} advisories for ${queries.length} packages.`);

function write(name, content) {
  writeFileSync(resolve(folder, name), `${JSON.stringify(content, null, 2)}\n`);
}

async function ask(path, body) {
  const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(new URL(path, address), { ...options, signal: AbortSignal.timeout(60_000) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return await response.json();
}
