import { describe, expect, it } from 'vitest';
import type { HostState } from '#inference/host';
import { hostThatHelps } from './helper-host.js';

describe('the host of a helper', () => {
  it.each<HostState>(['loading', 'ready', 'restarting'])('is asked while it is %s', (state) => {
    const host = { state };
    expect(hostThatHelps({ host, isAway: false })).toBe(host);
  });

  it.each<HostState>(['draining', 'gone'])('is asked no more when it is %s', (state) => {
    expect(hostThatHelps({ host: { state }, isAway: false })).toBeNull();
  });

  it.each<HostState>(['loading', 'restarting'])('is not waited for when it stays away, while it is %s', (state) => {
    expect(hostThatHelps({ host: { state }, isAway: true })).toBeNull();
  });

  it('is nobody where the worker does not hold it', () => {
    expect(hostThatHelps(undefined)).toBeNull();
  });
});
