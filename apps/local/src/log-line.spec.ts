import { describe, expect, it } from 'vitest';
import { readableLine } from './log-line.js';

const time = new Date(2026, 10, 20, 9, 5, 7, 42).toISOString();
const entry = (members: object): string =>
  JSON.stringify({ level: 'info', time, name: 'api', msg: 'listening', ...members });

describe('readableLine', () => {
  it('shows time, source, level, message and fields', () => {
    expect(readableLine('api', entry({ port: 3000, model: 'a', more: { deep: [1] } }))).toBe(
      '09:05:07.042 api    INFO  listening port=3000 model=a more={"deep":[1]}',
    );
  });

  it('omits fields that the message already contains', () => {
    const members = {
      msg: 'tiny runs on cpu, 1 slots',
      model: 'tiny',
      provider: 'cpu',
      slots: 1,
      part: 'tin',
      loadMs: 12,
    };
    expect(readableLine('worker', entry(members))).toMatch(/tiny runs on cpu, 1 slots part=tin loadMs=12$/);
  });

  it('gives sizes a unit, and omits sizes and times that the message tells in words', () => {
    const sizes = { budgetBytes: { cpu: 22_748_457_370, cuda: 8e9 }, bytes: 1_500_000 };
    expect(readableLine('worker', entry(sizes))).toMatch(
      /listening budgetBytes=\{"cpu":"22\.7 GB","cuda":"8\.0 GB"\} bytes=1\.5 MB$/,
    );
    const told = { msg: 'models may take 22.7 GB on cpu, 8.0 GB on cuda, loaded in 890 ms', loadMs: 890, ...sizes };
    expect(readableLine('worker', entry(told))).toMatch(/loaded in 890 ms bytes=1\.5 MB$/);
    const kept = { msg: 'responses are stored for 60 minutes', storedResponsesMs: 3_600_000, graceMs: 10_000 };
    expect(readableLine('api', entry(kept))).toMatch(/for 60 minutes graceMs=10000$/);
  });

  it('shows the message of an error, and its stack at severe levels', () => {
    const error = { type: 'Error', message: 'away', stack: 'Error: away\n    at here' };
    expect(readableLine('ops', entry({ level: 'warn', error }))).toMatch(/ops {4}WARN {2}listening error=away$/);
    expect(readableLine('ops', entry({ level: 'error', err: error }))).toMatch(/listening \nError: away\n {4}at here$/);
  });

  it.each(['plain words', '{not json', '{"no":"level"}', '{"level":'])('passes %j through unchanged', (line) => {
    expect(readableLine('worker', line)).toMatch(new RegExp(`^[\\d:.]{12} worker ${line.replace(/[{}":]/g, '\\$&')}$`));
  });
});
