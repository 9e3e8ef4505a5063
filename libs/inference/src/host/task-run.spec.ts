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
  it('fails if the part must not be repeated', async () => {
    const { run } = begin(false);
    expect(run.hostDied({ hadStarted: true })).toBe('ended');
    await expect(run.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });

  it('is retried once if it is repeatable', async () => {
    const { run, parts } = begin(true);
    expect(run.hostDied({ hadStarted: true })).toBe('run-again');
    run.accept([{ type: 'task-part', part: { at: 1 } }]);
    expect(parts).toHaveLength(2);
    expect(run.hostDied({ hadStarted: true })).toBe('ended');
    await expect(run.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });
});
