#!/usr/bin/env node
// `npm test -- alerts`: promtool checks the rules and tests each alert with series that must fire it and series that
// must not.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { requirePromtool } from './promtool.mjs';
import { root } from './steps.mjs';

const folder = resolve(root, 'k8s/observability');
const promtool = requirePromtool('checks the rules');

const checks = [
  ['check', 'rules', 'rules/sluice.rules.yaml'],
  ['test', 'rules', 'tests/sluice.rules.test.yaml'],
];
const failed = checks.filter((options) => spawnSync(promtool, options, { cwd: folder, stdio: 'inherit' }).status !== 0);
process.exit(failed.length === 0 ? 0 : 1);
