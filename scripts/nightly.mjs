#!/usr/bin/env node
// `npm run nightly -- <step …>`: what takes too long for `.ci/run`, one step after another, also after a failure.
// `-- all` runs every step; without a name it lists them.
import { readCommandLine } from './command-line.mjs';
import { nightlySteps } from './nightly-steps.mjs';
import { listNames } from './programs.mjs';
import { runSteps } from './steps.mjs';

const steps = { all: 'every step', ...Object.fromEntries(nightlySteps.map(({ name, about }) => [name, about])) };
const about = `npm run nightly -- <step …>\n\nRuns what is too long for .ci/run.\n\n${listNames(steps)}`;
if (process.argv.length < 3) process.argv.push('--help');
const { words: names } = readCommandLine(about, {}, { name: 'step', known: Object.keys(steps) });

// Who names a step wants it to run; who runs all has what this machine has.
const isAll = names.includes('all');
const chosen = nightlySteps
  .filter(({ name }) => isAll || names.includes(name))
  .map((step) => ({ ...step, isOptional: isAll }));
process.exit((await runSteps(chosen)) === 0 ? 0 : 1);
