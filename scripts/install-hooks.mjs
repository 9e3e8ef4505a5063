#!/usr/bin/env node
// `npm ci` runs this after an install in a checkout (`prepare`): git uses the hooks in .githooks. It changes nothing in CI,
// outside of a clone, and where other hooks are configured. It never fails an install.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
const git = (...args) => spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });

/** A folder inside of another repository is not a clone of this one. */
const isClone = existsSync(join(root, '.git')) && existsSync(join(root, '.githooks'));
const isAutomatic = process.env.CI !== undefined && process.env.CI !== '' && process.env.CI !== 'false';
const hasOwnHooks = git('config', 'core.hooksPath').status === 0;
if (isClone && !isAutomatic && !hasOwnHooks) git('config', '--local', 'core.hooksPath', '.githooks');
