#!/usr/bin/env node
// Writes k8s/observability/dashboards from scripts/observability/dashboards.mjs, and the alerts as an object of the
// Prometheus operator. With `--check`, writes nothing and exits with 1 if a file is out of date.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import prettier from 'prettier';
import { parse, stringify } from 'yaml';
import { readCommandLine } from './command-line.mjs';
import { dashboards } from './observability/dashboards.mjs';
import { root } from './steps.mjs';

const folder = resolve(root, 'k8s/observability/dashboards');
const about = 'npm run dashboards [-- --check]\n\nWrites the dashboards of Grafana and the PrometheusRule.';
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
const problems = readdirSync(folder)
  .filter((name) => !wanted.has(name))
  .map((name) => resolve(folder, name));
const files = [...wanted].map(([name, text]) => [resolve(folder, name), text]);
files.push([resolve(root, 'k8s/components/prometheus-rule/prometheus-rule.yaml'), await prometheusRule()]);
for (const [path, text] of files) {
  if (!isCheck) writeFileSync(path, text);
  else if (read(path) !== text) problems.push(path);
}
for (const path of problems) console.error(`${relative(root, path)} is out of date: run npm run dashboards.`);
process.exit(problems.length === 0 ? 0 : 1);

/** The alerts as the operator takes them. */
async function prometheusRule() {
  const path = resolve(root, 'k8s/observability/rules/sluice.rules.yaml');
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'sluice', labels: { 'app.kubernetes.io/name': 'sluice' } },
    spec: parse(readFileSync(path, 'utf8')),
  };
  const heading = '# Written by `npm run dashboards` from k8s/observability/rules/sluice.rules.yaml.\n';
  const text = heading + stringify(rule, { lineWidth: 0 });
  return await prettier.format(text, { ...(await prettier.resolveConfig(path)), parser: 'yaml' });
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
