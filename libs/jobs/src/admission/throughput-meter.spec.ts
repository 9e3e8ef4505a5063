import { describe, expect, it } from 'vitest';
import type { Heartbeat } from '#queue';
import { ThroughputMeter } from './throughput-meter.js';

interface Worker {
  processId: string;
  slots: number;
  running: number;
  ended: number;
}

function heartbeatOf({ processId, slots, running, ended }: Worker): Heartbeat {
  const model = { modelId: 'm', modalities: ['chat'], state: 'ready' as const, slots, running, ended, provider: 'cpu' };
  return { processId, role: 'worker', replyAddress: null, models: [model], alive: true };
}

function setUp() {
  const time = { nowMs: 0 };
  let heartbeats: Heartbeat[] = [];
  const transport = { membership: { list: () => heartbeats } };
  const meter = new ThroughputMeter(transport, { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs });
  /** The next second, with one heartbeat of each worker. */
  const second = (...workers: Worker[]) => {
    time.nowMs += 1_000;
    heartbeats = workers.map(heartbeatOf);
    meter.look();
  };
  return { meter, time, second };
}

describe('ThroughputMeter', () => {
  const worker = { processId: 'w1', slots: 4, running: 5, ended: 0 };

  it('knows nothing before full workers have ended some jobs', () => {
    const { meter, second } = setUp();
    expect(meter.rateOf('m')).toBeNull();
    for (let ended = 0; ended < 3; ended += 1) second({ ...worker, ended });
    expect(meter.rateOf('m')).toBeNull();
    second({ ...worker, ended: 3 });
    expect(meter.rateOf('m')).toBeCloseTo(1 / 1_000);
    expect(meter.rateOf('other')).toBeNull();
  });

  it('ignores times in which a worker had room: they say how many jobs came', () => {
    const { meter, second } = setUp();
    for (let turn = 0; turn < 20; turn += 1) second({ ...worker, running: 1, ended: turn * 10 });
    expect(meter.rateOf('m')).toBeNull();
  });

  it('adds up workers, and expects the same per slot of one that has just come', () => {
    const { meter, second } = setUp();
    for (let turn = 0; turn < 10; turn += 1) {
      second({ ...worker, ended: turn * 2 }, { ...worker, processId: 'w2', ended: turn * 4 });
    }
    expect(meter.rateOf('m')).toBeCloseTo(6 / 1_000);
    second(
      { ...worker, ended: 20 },
      { ...worker, processId: 'w2', ended: 40 },
      { ...worker, processId: 'w3', running: 0 },
    );
    expect(meter.rateOf('m')).toBeCloseTo(9 / 1_000);
  });

  it('follows the last jobs', () => {
    const { meter, second } = setUp();
    let ended = 0;
    for (let turn = 0; turn < 60; turn += 1) second({ ...worker, ended: (ended += 10) });
    expect(meter.rateOf('m')).toBeCloseTo(10 / 1_000);
    for (let turn = 0; turn < 60; turn += 1) second({ ...worker, ended: (ended += 1) });
    expect(meter.rateOf('m')).toBeCloseTo(1 / 1_000);
  });

  it('survives a worker that loads its model again, silence, and workers that say nothing', () => {
    const { meter, second, time } = setUp();
    for (let turn = 0; turn < 10; turn += 1) second({ ...worker, ended: 100 + turn });
    second({ ...worker, ended: 0 });
    time.nowMs += 60_000;
    second({ ...worker, ended: 500 });
    expect(meter.rateOf('m')).toBeCloseTo(1 / 1_000);
    second();
    expect(meter.rateOf('m')).toBeNull();
  });
});
