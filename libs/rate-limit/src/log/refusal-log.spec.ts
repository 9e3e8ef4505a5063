import { describe, expect, it } from 'vitest';
import { testDouble } from '#test/test-double';
import { keptRefusals, type LoggedRefusal } from './logged-refusal.js';
import { RefusalLog } from './refusal-log.js';

const refusal = (accountId: string, atMs: number): LoggedRefusal => ({
  accountId,
  apiKeyId: 'k',
  tier: 'default',
  modelId: 'm',
  type: 'RPM',
  atMs,
});

describe('RefusalLog', () => {
  it('writes a flood as the last 50 of each account', async () => {
    const written: LoggedRefusal[][] = [];
    const log = new RefusalLog(
      testDouble({ add: (refusals) => Promise.resolve(void written.push([...refusals])) }),
      testDouble({ warn: () => undefined }),
    );
    for (let index = 0; index < 1_000; index += 1) log.note(refusal('a', index));
    log.note(refusal('b', 7));
    await log.flush();
    expect(written).toHaveLength(1);
    const [lines = []] = written;
    expect(lines.filter(({ accountId }) => accountId === 'a').map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: keptRefusals }, (_, index) => 950 + index),
    );
    expect(lines.filter(({ accountId }) => accountId === 'b')).toHaveLength(1);
    await log.flush();
    expect(written).toHaveLength(1);
  });

  it('continues after lines that could not be written', async () => {
    const failures: unknown[] = [];
    let away = true;
    const written: number[] = [];
    const log = new RefusalLog(
      testDouble({
        add: (refusals) =>
          away ? Promise.reject(new Error('away')) : Promise.resolve(void written.push(refusals.length)),
      }),
      testDouble({ warn: (...line: unknown[]) => void failures.push(line) }),
    );
    log.note(refusal('a', 1));
    await log.flush();
    away = false;
    log.note(refusal('a', 2));
    await log.flush();
    expect([failures.length, written]).toEqual([1, [1]]);
  });
});
