import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { metricsIn, namedMetrics } from './named-metrics.js';

let platform: Platform;
const exported = new Set<string>();

/** The port that a process logged when it started to listen. */
function portOf(app: 'worker' | 'ops'): string {
  const pattern =
    app === 'worker'
      ? /worker \S+ serves health and metrics on port (\d+)/
      : /ops serves health and metrics on port (\d+)/;
  return pattern.exec(platform.log())?.[1] ?? expect.fail(`${app} logged no port`);
}

async function scrape(origin: string): Promise<void> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  for (const [, name] of text.matchAll(/^# TYPE (\S+) /gm)) exported.add(name ?? '');
}

beforeAll(async () => {
  platform = await startPlatform();
  await scrape(platform.origin);
  await scrape(`http://127.0.0.1:${portOf('worker')}`);
  await scrape(`http://127.0.0.1:${portOf('ops')}`);
});

afterAll(() => platform?.stop());

describe('metrics that scalers, alerts and dashboards query', () => {
  it('are all exported by a running process', () => {
    const unknown = [...namedMetrics()].filter(([name]) => !exported.has(name));
    expect(unknown).toEqual([]);
    expect(namedMetrics().size).toBeGreaterThan(2);
  });

  it('are reported when missing', () => {
    expect(metricsIn('sum(sluice_queue_jobz) + rate(sluice_steps_seconds_bucket[5m]) + sluice:own:rate5m')).toEqual([
      'sluice_queue_jobz',
      'sluice_steps_seconds',
    ]);
    expect(exported).not.toContain('sluice_queue_jobz');
  });
});
