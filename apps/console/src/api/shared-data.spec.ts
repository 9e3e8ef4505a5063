import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setSession } from './session.js';
import { onSharedData, shareData } from './shared-data.js';

/** Another tab of the browser, at the same service. */
let other: BroadcastChannel;
let received: unknown[];
let stop: () => void;

vi.stubGlobal('location', { href: 'http://127.0.0.1:3000/prefix/console/#/overview' });

afterAll(() => {
  vi.unstubAllGlobals();
});

beforeEach(() => {
  other = new BroadcastChannel('sluice-console http://127.0.0.1:3000/prefix/');
  received = [];
  signIn('own-key');
  stop = onSharedData('queue', (data) => received.push(data));
});

afterEach(() => {
  stop();
  other.close();
  setSession({ state: 'unknown' });
});

function signIn(id: string): void {
  const key = { id, description: '', last6: '' };
  const session = {
    role: 'operator',
    account: { id: '', name: '' },
    key,
    csrf: 'secret',
    expiresAt: '',
    version: '',
  } as const;
  setSession({ state: 'signed-in', session });
}

const tell = (message: object) => other.postMessage({ key: 'queue', apiKeyId: 'own-key', ...message });

describe('what tabs share', () => {
  it('is what another tab loaded for the same query, with the same key', async () => {
    tell({ key: 'workers', data: 'other query' });
    tell({ apiKeyId: 'other-key', data: 'other key' });
    tell({ data: 'same' });
    await expect.poll(() => received).toEqual(['same']);
  });

  it('is nothing to a view that was left', async () => {
    tell({ data: 'first' });
    await expect.poll(() => received).toEqual(['first']);
    stop();
    const later: unknown[] = [];
    stop = onSharedData('queue', (data) => later.push(data));
    tell({ data: 'second' });
    await expect.poll(() => later).toEqual(['second']);
    expect(received).toEqual(['first']);
  });

  it('names the key and holds no secret of the session', async () => {
    const heard = new Promise<unknown>((resolve) => {
      other.addEventListener('message', (event) => resolve((event as MessageEvent<unknown>).data), { once: true });
    });
    shareData('queue', { waiting: 1 });
    expect(await heard).toEqual({ key: 'queue', apiKeyId: 'own-key', data: { waiting: 1 } });
  });
});
