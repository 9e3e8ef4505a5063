#!/usr/bin/env node
// `npm run test:clients`: real client libraries against the platform with TinyLlama (test/clients).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { about, options } from '../test/clients/options.mjs';
import { readCommandLine } from './command-line.mjs';
import { root, runCommand } from './steps.mjs';

readCommandLine(about, options);

const libraries = resolve(root, 'test/clients/libraries');
const lockfile = readFileSync(join(libraries, 'package-lock.json'), 'utf8');
const installed = join(libraries, 'node_modules/.installed-lockfile.json');

async function step(command, options) {
  const code = await runCommand(command, options);
  if (code !== 0) process.exit(code);
}

if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lockfile) {
  console.log('== npm ci (the client libraries)');
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  await step([...npm, 'ci', '--loglevel=error', '--prefix', libraries]);
  writeFileSync(installed, lockfile);
}
await step([process.execPath, resolve(root, 'scripts/build.mjs')]);

const home = process.env.SLUICE_TEST_HOME ?? join(homedir(), '.cache', 'sluice-test');
mkdirSync(home, { recursive: true });
const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
const program = [...source, resolve(root, 'test/clients/main.ts'), ...process.argv.slice(2)];
await step([process.execPath, ...program], { env: { SLUICE_TEST_HOME: home } });
