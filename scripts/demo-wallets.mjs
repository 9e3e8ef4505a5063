#!/usr/bin/env node
// `npm run demo`: wallets pay, chat and call a node, on chains and a platform of this machine (test/chains/demo.ts).
// The first run installs the packages of test/chains/programs; further ones need no network.
import { resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { installPackages, root, runCommand } from './steps.mjs';

const about = `npm run demo

Starts an EVM node, a Solana VM and the platform on this machine. Two wallets pay $5, one chats until its balance refuses,
one calls a node. Prints what happens and exits with 1 if a step fails.`;
readCommandLine(about, {});

async function step(command) {
  const code = await runCommand(command);
  if (code !== 0) process.exit(code);
}

if (!(await installPackages('test/chains/programs'))) process.exit(1);
await step([process.execPath, resolve(root, 'scripts/build.mjs')]);
const source = ['--conditions=sluice-source', '--import', resolve(root, 'test/harness/run-source.mjs')];
await step([process.execPath, ...source, resolve(root, 'test/chains/demo.ts')]);
