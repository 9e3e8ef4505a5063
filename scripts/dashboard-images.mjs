#!/usr/bin/env node
// `npm run dashboards -- images`: records a running installation with its own Prometheus and renders each dashboard.
// Previews the dashboards without Grafana and checks that every panel has data.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { dashboardPage } from './observability/page.mjs';
import { root } from './steps.mjs';

const usual = ['api=127.0.0.1:3000', 'worker=127.0.0.1:3001', 'ops=127.0.0.1:3002'];
const { values } = readCommandLine('npm run dashboards -- images [options]', {
  target: { value: 'APP=HOST:PORT', about: 'a process to watch', isRepeated: true, default: usual },
  minutes: { value: 'N', about: 'how long to watch before drawing; rates are taken over 5', default: 6 },
  out: { value: 'DIR', about: 'where images are written', default: join(root, 'docs/images') },
  prometheus: { value: 'PATH', about: 'Debian: prometheus', default: process.env.PROMETHEUS ?? 'prometheus' },
  browser: { value: 'PATH', about: 'Debian: chromium', default: 'chromium' },
});
for (const program of [values.prometheus, values.browser]) {
  if (spawnSync(program, ['--version']).status === 0) continue;
  console.error(`${program} does not run here: see --help for where it is looked up.`);
  process.exit(2);
}

const scrapeSeconds = 5;
const folder = mkdtempSync(join(tmpdir(), 'sluice-dashboards-'));
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;

/** A free port of this machine. Nothing else is started meanwhile that could take it. */
function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address();
      server.close(() => done(free));
    });
  });
}

function startPrometheus() {
  const jobs = values.target.map((target) => {
    const [app, address] = target.split('=');
    return `  - job_name: ${app}\n    static_configs: [{ targets: ['${address}'] }]\n`;
  });
  const settings = `global: { scrape_interval: ${scrapeSeconds}s, scrape_timeout: ${scrapeSeconds}s }\nscrape_configs:\n${jobs.join('')}`;
  writeFileSync(join(folder, 'prometheus.yml'), settings);
  const options = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ];
  return spawn(values.prometheus, options, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function queryOver(from, to, expression) {
  const asked = new URLSearchParams({
    query: expression,
    start: String(from),
    end: String(to),
    step: String(scrapeSeconds),
  });
  const response = await fetch(`${origin}/api/v1/query_range?${asked}`);
  const answer = await response.json();
  if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
  return answer.data.result.map(({ metric, values: points }) => ({
    labels: metric,
    points: points.map(([at, value]) => [at, Number(value)]),
  }));
}

async function draw(from) {
  const to = Date.now() / 1_000;
  const source = join(root, 'k8s/observability/dashboards');
  mkdirSync(values.out, { recursive: true });
  for (const file of readdirSync(source)) {
    const dashboard = JSON.parse(readFileSync(join(source, file), 'utf8'));
    const query = (expression) => queryOver(from, to, expression);
    const { html, width, height, empty } = await dashboardPage(dashboard, { query, from, to });
    const name = file.replace(/\.json$/, '');
    const page = join(folder, `${name}.html`);
    writeFileSync(page, html);
    const image = resolve(values.out, `${name}.png`);
    const size = `--window-size=${width},${height}`;
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', size, `--screenshot=${image}`];
    spawnSync(values.browser, [...flags, `file://${page}`], { stdio: 'ignore', timeout: 60_000 });
    console.log(`${image}${empty.length === 0 ? '' : `; no data in: ${empty.join(', ')}`}`);
  }
}

const prometheus = startPrometheus();
try {
  const from = Date.now() / 1_000;
  console.log(`watching ${values.target.join(', ')} for ${values.minutes} min`);
  await new Promise((done) => setTimeout(done, values.minutes * 60_000));
  await draw(from);
} finally {
  prometheus.kill();
  await new Promise((done) => prometheus.once('exit', done));
  rmSync(folder, { recursive: true, force: true });
}
