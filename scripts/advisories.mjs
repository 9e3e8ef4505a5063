#!/usr/bin/env node
// `npm run advisories -- check`, or `-- refresh`: known vulnerabilities of the packages in package-lock.json.
import { resolve } from 'node:path';
import { chooseProgram } from './programs.mjs';
import { root, runCommand } from './steps.mjs';

const { name, args } = chooseProgram('npm run advisories -- <name> [options]', {
  check: 'compares package-lock.json with the advisories in `advisories/`, without a network',
  refresh: 'replaces these by what the database behind OSV_URL knows; needs a network',
});
process.exit(await runCommand([process.execPath, resolve(root, `scripts/${name}-advisories.mjs`), ...args]));
