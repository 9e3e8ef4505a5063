import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreActivity, storeCall } from './store-call.js';

const unavailable = { code: 'SERVICE_UNAVAILABLE' };

/** A store with one connection: operations take their turns, `eachMs` each. */
function busyStore(eachMs: number) {
  let last: Promise<unknown> = Promise.resolve();
  return (name: number): Promise<number> => {
    const turn = last.then(() => new Promise<number>((resolve) => setTimeout(() => resolve(name), eachMs)));
    last = turn;
    return turn;
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a call of the store', () => {
  it('waits for its turn while the store responds to others', async () => {
    const activity = new StoreActivity();
    const operation = busyStore(100);
    const calls = Promise.all(
      Array.from({ length: 40 }, (_, name) => storeCall(() => operation(name), undefined, activity)),
    );
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await calls).toHaveLength(40);
  });

  it('is given up soon when the store is silent', async () => {
    const activity = new StoreActivity();
    const first = storeCall(() => Promise.resolve(1), undefined, activity);
    const call = storeCall(() => new Promise(() => undefined), undefined, activity);
    const failure = call.catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(2_000);
    await first;
    expect(await failure).toMatchObject(unavailable);
  });

  it('is given up at last, although the store responds to others', async () => {
    const activity = new StoreActivity();
    const call = storeCall(() => new Promise(() => undefined), undefined, activity);
    const failure = call.catch((error: unknown) => error);
    for (let second = 0; second < 8; second += 1) {
      await storeCall(() => Promise.resolve(second), undefined, activity);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(await failure).toMatchObject(unavailable);
  });

  it('takes a response that arrived while the event loop was busy', async () => {
    let respond: (text: string) => void = () => undefined;
    const call = storeCall(() => new Promise<string>((resolve) => (respond = resolve)));
    // The timer is due; what comes in the same turn of the loop still counts.
    vi.advanceTimersToNextTimer();
    respond('answer');
    await vi.runAllTimersAsync();
    expect(await call).toBe('answer');
  });
});
