#!/usr/bin/env node
// Makes git use the hooks in .githooks. `npm run check` and `npm test` call it, since install scripts are off (.npmrc). It
// changes nothing in CI, outside of a clone, and where other hooks are configured. It never fails its caller.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function installHooks(root = dirname(dirname(fileURLToPath(import.meta.url)))) {
  const git = (...args) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  /** A folder inside of another repository is not a clone of this one. */
  const isClone = existsSync(join(root, '.git')) && existsSync(join(root, '.githooks'));
  const isAutomatic = process.env.CI !== undefined && process.env.CI !== '' && process.env.CI !== 'false';
  if (!isClone || isAutomatic || git('config', 'core.hooksPath').status === 0) return;
  git('config', '--local', 'core.hooksPath', '.githooks');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installHooks(process.argv[2]);
