#!/usr/bin/env node
// `npm test -- clients`: real client libraries against the platform with TinyLlama (test/clients).
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { about, options } from '../test/clients/options.mjs';
import { readCommandLine } from './command-line.mjs';
import { installPackages, root, runCommand } from './steps.mjs';

readCommandLine(about, options);

async function step(command, options) {
  const code = await runCommand(command, options);
  if (code !== 0) process.exit(code);
}

if (!(await installPackages('test/clients/libraries'))) process.exit(1);
await step([process.execPath, resolve(root, 'scripts/build.mjs')]);

const home = process.env.SLUICE_TEST_HOME ?? join(homedir(), '.cache', 'sluice-test');
mkdirSync(home, { recursive: true });
const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
const program = [...source, resolve(root, 'test/clients/main.ts'), ...process.argv.slice(2)];
await step([process.execPath, ...program], { env: { SLUICE_TEST_HOME: home } });
