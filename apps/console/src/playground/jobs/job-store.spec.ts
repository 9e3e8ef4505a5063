import { describe, expect, it } from 'vitest';
import { JobStore, type StoredJob } from './job-store.js';

function memory(): Storage {
  const values = new Map<string, string>();
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  } as unknown as Storage;
}

const job = (queueId: string): StoredJob => ({
  route: 'video',
  model: 'rife-4.6',
  queueId,
  prompt: '',
  queuedAt: '2026-11-29T09:00:00.000Z',
});

describe('JobStore', () => {
  it('keeps the newest jobs of an account, newest first', () => {
    const store = new JobStore('a', memory());
    for (let index = 0; index < 25; index += 1) store.add(job(String(index)));
    const ids = new JobStore('a', memory()).read();
    expect(ids).toEqual([]);
    expect(store.read().map(({ queueId }) => queueId)).toEqual(
      Array.from({ length: 20 }, (_, index) => String(24 - index)),
    );
  });

  it('shows no job to another account', () => {
    const storage = memory();
    new JobStore('a', storage).add(job('1'));
    expect(new JobStore('b', storage).read()).toEqual([]);
    expect(new JobStore('a', storage).read()).toEqual([job('1')]);
  });

  it('forgets a job', () => {
    const store = new JobStore('a', memory());
    store.add(job('1'));
    expect(store.remove('1')).toEqual([]);
  });

  it.each(['{', '{}', '[{"route":"other"}]', '[null]'])('reads nothing from %s', (text) => {
    const storage = memory();
    storage.setItem('sluice-console-jobs-a', text);
    expect(new JobStore('a', storage).read()).toEqual([]);
  });

  it('keeps nothing where the browser refuses storage', () => {
    const refuse = (): never => {
      throw new Error('denied');
    };
    const store = new JobStore('a', { getItem: refuse, setItem: refuse });
    expect(store.add(job('1'))).toEqual([job('1')]);
  });
});
