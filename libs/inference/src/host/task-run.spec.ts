import { describe, expect, it } from 'vitest';
import { TaskRun } from './task-run.js';

function begin(repeatable: boolean) {
  const { signal } = new AbortController();
  const parts: object[] = [];
  const onPart = (part: object) => void parts.push(part);
  const run = new TaskRun({ id: 'a', task: 'draw', input: {} }, { signal, repeatable, onPart }, () => undefined);
  run.accept([{ type: 'task-part', part: { at: 1 } }]);
  return { run, parts };
}

describe('a task whose host dies after it has delivered a part', () => {
  it('fails where the part would come twice', async () => {
    const { run } = begin(false);
    expect(run.hostDied({ hadBegun: true })).toBe('ended');
    await expect(run.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });

  it('runs again where that does no harm, once', async () => {
    const { run, parts } = begin(true);
    expect(run.hostDied({ hadBegun: true })).toBe('run-again');
    run.accept([{ type: 'task-part', part: { at: 1 } }]);
    expect(parts).toHaveLength(2);
    expect(run.hostDied({ hadBegun: true })).toBe('ended');
    await expect(run.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });
});
