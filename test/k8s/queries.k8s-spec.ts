import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ofKind } from './manifest.js';
import { renderOverlay } from './render-overlay.js';

/** A series with one sample per minute, in promtool's short form. */
interface Series {
  series: string;
  values: string;
}

/** `null`: the query returns no data. */
type Expected = number | null;

const manifests = renderOverlay('production');

function queryOf(pool: string, trigger: string): string {
  const scaler = ofKind(manifests, 'ScaledObject').find(({ metadata }) => metadata.name === `sluice-worker-${pool}`);
  const query = scaler?.spec?.triggers?.find(({ name }) => name === trigger)?.metadata.query;
  return query ?? expect.fail(`the pool ${pool} has no trigger ${trigger}`);
}

/**
 * Evaluates queries with Prometheus' own engine (promtool of Debian's package `prometheus`); rejects with its output on
 * a mismatch.
 */
function expectResponse(query: string, series: Series[], expected: Expected): void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-queries-'));
  const samples = expected === null ? [] : [{ labels: '{}', value: expected }];
  const test = {
    interval: '1m',
    input_series: series,
    promql_expr_test: [{ expr: query, eval_time: '10m', exp_samples: samples }],
  };
  try {
    writeFileSync(join(folder, 'test.yaml'), stringify({ evaluation_interval: '1m', tests: [test] }));
    execFileSync(process.env.PROMTOOL ?? 'promtool', ['test', 'rules', join(folder, 'test.yaml')], { stdio: 'pipe' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const jobs = (replica: string, model: string, state: string, value: number): Series => ({
  series: `sluice_queue_jobs{namespace="sluice", app="api", instance="${replica}", modality="chat", model="${model}", state="${state}"}`,
  values: `${value}x20`,
});

/** A request was rejected this many seconds after the start of the series, which are queried at 600 s. */
const missed = (replica: string, model: string, second: number): Series => ({
  series: `sluice_model_last_unserved_request_timestamp_seconds{namespace="sluice", app="api", instance="${replica}", model="${model}"}`,
  values: `${second}x20`,
});

describe('the load of a pool', () => {
  const query = queryOf('text', 'jobs');
  const queues = (replica: string) => [
    jobs(replica, 'stories-15m', 'waiting', 3),
    jobs(replica, 'stories-15m', 'active', 4),
    jobs(replica, 'tinyllama-1.1b-chat', 'active', 5),
    jobs(replica, 'tinyllama-1.1b-chat', 'delayed', 70),
    jobs(replica, 'whisper-tiny', 'waiting', 900),
  ];

  it('is the number of waiting and running jobs of its own models', () => expectResponse(query, queues('a'), 12));

  it('is not doubled when two replicas report it', () => expectResponse(query, [...queues('a'), ...queues('b')], 12));

  it('leaves the jobs of another installation out', () => {
    const staging = queues('a').map(({ series, values }) => ({
      series: series.replace('"sluice"', '"staging"'),
      values,
    }));
    expectResponse(query, [...queues('a'), ...staging], 12);
    expectResponse(query, staging, null);
  });

  it('is unknown, and not zero, while no API replica responds', () => expectResponse(query, [], null));

  it('comes from the API, whatever other processes report', () => {
    const ops = queues('a').map(({ series, values }) => ({ series: series.replace('"api"', '"ops"'), values }));
    expectResponse(query, ops, null);
    expect(() => expectResponse(query, queues('a'), 13)).toThrow();
  });
});

describe('a pool scaled to zero', () => {
  const query = queryOf('video', 'missed');

  it.each<[string, Series[], Expected]>([
    ['is started by the first request for one of its models', [missed('a', 'rife-4.6', 590)], 1],
    ['keeps running for five minutes', [missed('a', 'rife-4.6', 310)], 1],
    ['may scale to zero again afterwards', [missed('a', 'rife-4.6', 290)], 0],
    ['considers every replica', [missed('a', 'rife-4.6', 5), missed('b', 'rife-4.6', 590)], 1],
    ['considers every model', [missed('a', 'rife-4.6', 5), missed('a', 'esrgan-video', 590)], 1],
    ['ignores requests for models of other pools', [missed('a', 'kokoro-82m', 590)], null],
  ])('%s', (_name, series, expected) => {
    expectResponse(query, series, expected);
    expect(() => expectResponse(query, series, 7)).toThrow();
  });
});
