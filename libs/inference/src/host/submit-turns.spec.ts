import { describe, expect, it } from 'vitest';
import type { TaskRequest } from '../contract/task.js';
import { SubmitTurns } from './submit-turns.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Engine whose submits take `submitMs` each on the test's clock. */
function open(submitMs: number) {
  const done: string[] = [];
  const clock = { ms: 0 };
  const engine = {
    submit: ({ request }: { request: { id: string } }) => {
      done.push(request.id);
      clock.ms += submitMs;
    },
    cancel: (id: string) => void done.push(`cancel ${id}`),
  };
  const turns = new SubmitTurns(engine, () => clock.ms);
  const submit = (...ids: string[]) => {
    for (const id of ids)
      turns.submit({ type: 'submit', request: { id, task: 'draw', input: {} } satisfies TaskRequest });
  };
  return { turns, submit, done };
}

describe('requests that arrive together', () => {
  it('reach the engine in one event-loop turn if they are small', async () => {
    const { submit, done } = open(1);
    submit('a', 'b', 'c');
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it('reach the engine one per turn if each takes long', async () => {
    const { submit, done } = open(1_000);
    submit('a', 'b', 'c');
    expect(done).toEqual(['a']);
    await turn();
    expect(done).toEqual(['a', 'b']);
    submit('d');
    await turn();
    await turn();
    expect(done).toEqual(['a', 'b', 'c', 'd']);
    await turn();
    submit('e');
    expect(done.at(-1)).toBe('e');
  });

  it('are cancelled after their submit, and immediately if already submitted', async () => {
    const { turns, submit, done } = open(1_000);
    submit('a', 'b');
    turns.cancel('b');
    turns.cancel('a');
    await turn();
    expect(done).toEqual(['a', 'cancel a', 'b', 'cancel b']);
  });
});
