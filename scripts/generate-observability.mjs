#!/usr/bin/env node
// Writes k8s/observability/dashboards from scripts/observability/dashboards.mjs. With `--check`, writes nothing and
// exits with 1 if a file is out of date.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import prettier from 'prettier';
import { readCommandLine } from './command-line.mjs';
import { dashboards } from './observability/dashboards.mjs';
import { root } from './steps.mjs';

const folder = resolve(root, 'k8s/observability/dashboards');
const about = 'npm run dashboards [-- --check]\n\nWrites the dashboards of Grafana.';
const { values } = readCommandLine(about, {
  check: { about: 'writes nothing; exits with 1 if a file is out of date' },
});
const isCheck = values.check;
const options = await prettier.resolveConfig(resolve(folder, 'overview.json'));
const wanted = new Map();
for (const [name, dashboard] of Object.entries(dashboards)) {
  const text = await prettier.format(JSON.stringify(dashboard, null, 2), { ...options, parser: 'json' });
  wanted.set(`${name}.json`, text);
}

mkdirSync(folder, { recursive: true });
const problems = readdirSync(folder).filter((name) => !wanted.has(name));
for (const [name, text] of wanted) {
  const path = resolve(folder, name);
  if (!isCheck) writeFileSync(path, text);
  else if (read(path) !== text) problems.push(name);
}
for (const name of problems) {
  console.error(`k8s/observability/dashboards/${name} is out of date: run npm run dashboards.`);
}
process.exit(problems.length === 0 ? 0 : 1);

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
