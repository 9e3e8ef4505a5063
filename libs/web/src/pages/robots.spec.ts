import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { RemoteFile, RemoteRequest } from '#egress';
import { Robots } from './robots.js';

const file = (text: string): RemoteFile => ({
  url: '',
  contentType: 'text/plain',
  charset: '',
  bytes: Buffer.from(text),
});
const closed = 'User-agent: *\nDisallow: /';
const request = { owner: 'a', signal: new AbortController().signal };

/** A site that answers when it is told to. */
function site() {
  const requests: RemoteRequest[] = [];
  const answers: { resolve: (file: RemoteFile) => void; reject: (error: Error) => void }[] = [];
  const read = (asked: RemoteRequest): Promise<RemoteFile> => {
    requests.push(asked);
    return new Promise((resolve, reject) => answers.push({ resolve, reject }));
  };
  return { requests, answers, read };
}

describe('the robots.txt of a site', () => {
  it('is read once for callers who ask meanwhile, and does not end with the first of them', async () => {
    const { requests, answers, read } = site();
    const robots = new Robots({ read });
    const caller = new AbortController();
    const first = robots.allow('https://site.example/a', { owner: 'a', signal: caller.signal });
    const second = robots.allow('https://site.example/b', { owner: 'b', signal: request.signal });
    caller.abort(new Error('the client left'));
    await expect(first).rejects.toThrow('the client left');
    expect(requests.map(({ owner, signal }) => [owner, signal])).toEqual([['a', undefined]]);
    answers[0]?.resolve(file(closed));
    expect(await second).toBe(false);
    expect(await robots.allow('https://site.example/c', request)).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('is read again for an account that did not ask too much itself', async () => {
    const { requests, answers, read } = site();
    const robots = new Robots({ read });
    const first = robots.allow('https://site.example/', request);
    const second = robots.allow('https://site.example/', { ...request, owner: 'b' });
    answers[0]?.reject(new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many hosts.'));
    await expect(first).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    await expect.poll(() => requests.map(({ owner }) => owner)).toEqual(['a', 'b']);
    answers[1]?.resolve(file(closed));
    expect(await second).toBe(false);
  });

  it('allows everything where it cannot be read', async () => {
    const robots = new Robots({ read: () => Promise.reject(new PlatformError('INVALID_REQUEST', 'status 404')) });
    expect(await robots.allow('https://site.example/', request)).toBe(true);
  });

  it('is forgotten after ten minutes', async () => {
    let nowMs = 0;
    let reads = 0;
    const read = async (): Promise<RemoteFile> => file((reads += 1) === 1 ? closed : '');
    const robots = new Robots({ read }, () => nowMs);
    expect(await robots.allow('https://site.example/', request)).toBe(false);
    nowMs = 600_001;
    expect(await robots.allow('https://other.example/', request)).toBe(true);
    expect(robots.bytes).toBeLessThan(3_000);
    expect(await robots.allow('https://site.example/', request)).toBe(true);
  });

  it('takes a bounded memory, whatever sites send', async () => {
    const rules = Array.from({ length: 250 }, (_, index) => `Disallow: /${index}${'x'.repeat(2_000)}`);
    const robots = new Robots({ read: () => Promise.resolve(file(['User-agent: *', ...rules].join('\n'))) });
    for (let port = 1; port <= 100; port += 1) await robots.allow(`https://site.example:${port}/`, request);
    expect(robots.bytes).toBeLessThan(9 * 1024 * 1024);
    expect(robots.bytes).toBeGreaterThan(1024 * 1024);
  });
});
