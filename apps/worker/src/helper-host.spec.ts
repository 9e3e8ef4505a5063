import { describe, expect, it } from 'vitest';
import type { HostState } from '#inference/host';
import { hostThatHelps } from './helper-host.js';

describe('the host of a helper', () => {
  it.each<HostState>(['loading', 'ready', 'restarting'])('is asked while it is %s', (state) => {
    const host = { state };
    expect(hostThatHelps(host)).toBe(host);
  });

  it.each<HostState>(['draining', 'gone'])('is asked no more when it is %s', (state) => {
    expect(hostThatHelps({ state })).toBeNull();
  });

  it('is nobody where the worker does not hold it', () => {
    expect(hostThatHelps(undefined)).toBeNull();
  });
});
