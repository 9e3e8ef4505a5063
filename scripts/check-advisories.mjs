#!/usr/bin/env node
// `npm run advisories -- check`: compares package-lock.json with the advisories in `advisories/`, without a network.
// Exits with 1 for a package with a known vulnerability. `--lock <file>` and `--advisories <folder>` name others.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findAffected } from './advisories/affected-packages.mjs';
import { readCommandLine } from './command-line.mjs';
import { root } from './steps.mjs';

const about =
  'npm run advisories -- check [options]\n\nCompares the packages of a lockfile with the advisories, without a network.';
const { values } = readCommandLine(about, {
  lock: { value: 'FILE', about: 'lockfile', default: resolve(root, 'package-lock.json') },
  advisories: { value: 'DIR', about: 'folder of the advisories', default: resolve(root, 'advisories') },
});
const folder = values.advisories;
const read = (path) => JSON.parse(readFileSync(path, 'utf8'));

const names = readdirSync(folder).filter((name) => name.endsWith('.json') && name !== 'state.json');
const advisories = names.map((name) => read(resolve(folder, name)));
const state = resolve(folder, 'state.json');
const refreshed = existsSync(state) ? read(state).refreshed : null;
const affected = findAffected(read(values.lock), advisories);
for (const { id, name, version, summary, isDevelopment } of affected) {
  const use = isDevelopment ? ' (development only)' : '';
  console.error(`${name} ${version}${use}: ${id} ${summary}`.trimEnd());
}
if (refreshed === null) {
  console.warn(
    'advisories/ was never refreshed, so nothing is known: `npm run advisories -- refresh` needs a network.',
  );
} else {
  console.log(`${advisories.length} advisories of ${refreshed}, ${affected.length} affected packages.`);
}
if (affected.length > 0)
  console.error('Update these packages. npm run advisories -- refresh removes what no longer applies.');
process.exit(affected.length === 0 ? 0 : 1);
