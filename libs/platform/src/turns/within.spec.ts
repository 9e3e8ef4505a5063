import { expect, it } from 'vitest';
import { within } from './within.js';

it('returns what the work does, or rejects as it does', async () => {
  const { signal } = new AbortController();
  expect(await within(signal, Promise.resolve(1))).toBe(1);
  await expect(within(signal, Promise.reject(new Error('lost')))).rejects.toThrow('lost');
});

it('stops waiting when its own signal aborts, while another caller goes on', async () => {
  let end: (value: number) => void = () => undefined;
  const work = new Promise<number>((resolve) => (end = resolve));
  const [first, second] = [new AbortController(), new AbortController()];
  const [left, stayed] = [within(first.signal, work), within(second.signal, work)];
  first.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  end(2);
  expect(await stayed).toBe(2);
});

it('rejects at once with a signal that was aborted before', async () => {
  await expect(within(AbortSignal.abort(new Error('gone')), new Promise(() => undefined))).rejects.toThrow('gone');
});
