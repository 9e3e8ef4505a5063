import { afterEach, describe, expect, it } from 'vitest';
import { BatchScheduler } from './batch-scheduler.js';
import { FakeGraphSession, greedyAlone } from './fake-graph-session.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';

const slots = 4;
const open: BatchScheduler[] = [];
afterEach(async () => {
  for (const scheduler of open.splice(0)) await scheduler.close();
});

interface Prompt {
  label?: string;
  sharedTokens?: number;
  seed?: number;
  maxNewTokens?: number;
  adapter?: number;
}

function start() {
  const session = new FakeGraphSession();
  const decoder = openDecoder(session, { slots });
  const scheduler = new BatchScheduler({ decoder, slots, contextLength: 4096, cacheTokens: 16_384 });
  open.push(scheduler);
  let count = 0;
  const submit = (
    prompt: readonly number[],
    { label, sharedTokens = 0, seed, maxNewTokens = 3, adapter }: Prompt,
    onEach?: ConstructorParameters<typeof RecordingListener>[0],
  ): RecordingListener => {
    const listener = new RecordingListener(onEach);
    const scope = { label, sharedTokens };
    const sampling = { temperature: 0, ...(seed === undefined ? {} : { seed }) };
    const id = `s${count++}`;
    scheduler.submit(sequenceRequest({ id, prompt, listener, scope, sampling, maxNewTokens, adapter }));
    return listener;
  };
  /** Runs of the graph that a prompt causes: what its time depends on. */
  const work = async (prompt: readonly number[], options: Prompt): Promise<unknown> => {
    const before = session.runs.length;
    const { cachedTokens } = await submit(prompt, options).done;
    return { cachedTokens, runs: session.runs.slice(before).map(({ batch, steps }) => [batch, steps]) };
  };
  return { submit, work };
}

const promptOf = (length: number, first: number): number[] =>
  Array.from({ length }, (_value, index) => (first * 7 + index * index * 3) % 89);
const secret = promptOf(300, 1);

describe('cached prefixes of another scope', () => {
  it('change neither the count of cached tokens nor what is computed, however much of them is guessed', async () => {
    const { work } = start();
    await work(secret, { label: 'a' });
    for (const known of [16, 64, 128, 200, 299]) {
      // A guess that is right so far, and one that no prompt begins with.
      const right = [...secret.slice(0, known), ...promptOf(20, 5)];
      const wrong = [88, ...secret.slice(1, known), ...promptOf(20, 6)];
      const label = `b${known}`;
      expect(await work(right, { label })).toEqual(await work(wrong, { label }));
      expect(await work(right, { label: `seeded${known}`, seed: 1 })).toMatchObject({ cachedTokens: 0 });
    }
  });

  it('are not copied from a running prompt either, nor waited for', async () => {
    const { submit } = start();
    const both: RecordingListener[] = [];
    const first = submit(secret, { label: 'a', maxNewTokens: 40 }, (_token, count) => {
      if (count === 2) both.push(submit(secret, { label: 'b' }), submit(secret, { label: 'a' }));
      return undefined;
    });
    await first.done;
    const [other, own] = await Promise.all(both.map(({ done }) => done));
    expect([other?.cachedTokens, own?.cachedTokens]).toEqual([0, 299]);
    const together = [submit(promptOf(200, 9), { label: 'a' }), submit(promptOf(200, 9), { label: 'b' })];
    await Promise.all(together.map(({ done }) => done));
    expect(together.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 0]);
  });

  it('are copied as far as both prompts are the platform’s own', async () => {
    const { work, submit } = start();
    await work(secret, { label: 'a', sharedTokens: 100 });
    expect(await work(secret, { label: 'b', sharedTokens: 80 })).toMatchObject({ cachedTokens: 80 });
    expect(await work(secret, { label: 'c', sharedTokens: 300 })).toMatchObject({ cachedTokens: 100 });
    const prompt = [...secret.slice(0, 100), ...promptOf(30, 4)];
    const ended = await submit(prompt, { label: 'd', sharedTokens: 100 }).done;
    expect([ended.cachedTokens, ended.tokens]).toEqual([100, greedyAlone(prompt, 3)]);
  });

  it('do not drop out of the cache when another scope continues them', async () => {
    const { work } = start();
    await work(secret, { label: 'a' });
    await work([...secret, ...promptOf(20, 3)], { label: 'b' });
    expect(await work(secret, { label: 'a' })).toMatchObject({ cachedTokens: 299 });
  });
});

describe('cached prefixes of another adapter', () => {
  it('are not copied, though the caller and the platform’s part are the same', async () => {
    const { work } = start();
    const scope = { label: 'a', sharedTokens: 300 };
    await work(secret, scope);
    await work(secret, { ...scope, adapter: 1 });
    expect(await work(secret, { ...scope, adapter: 2 })).toMatchObject({ cachedTokens: 0 });
    for (const adapter of [undefined, 1, 2]) {
      expect(await work(secret, { ...scope, adapter })).toMatchObject({ cachedTokens: 299 });
    }
  });

  it('are not waited for either', async () => {
    const { submit } = start();
    const scope = { label: 'a', sharedTokens: 300 };
    const together = [1, 2, 1].map((adapter) => submit(secret, { ...scope, adapter }));
    await Promise.all(together.map(({ done }) => done));
    expect(together.map(({ cachedTokens }) => cachedTokens)).toEqual([0, 0, 299]);
  });
});
