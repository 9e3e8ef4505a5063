import { describe, expect, it } from 'vitest';
import type { HostState } from '#inference/host';
import { availableHelperHost } from './helper-host.js';

describe('hostThatHelps', () => {
  it.each<HostState>(['loading', 'ready', 'restarting'])('returns the host while it is %s', (state) => {
    const host = { state };
    expect(availableHelperHost({ host, isDown: false })).toBe(host);
  });

  it.each<HostState>(['draining', 'gone'])('returns null when the host is %s', (state) => {
    expect(availableHelperHost({ host: { state }, isDown: false })).toBeNull();
  });

  it.each<HostState>(['loading', 'restarting'])('returns null for a host that is down too long while %s', (state) => {
    expect(availableHelperHost({ host: { state }, isDown: true })).toBeNull();
  });

  it('returns null when the worker does not have the model', () => {
    expect(availableHelperHost(undefined)).toBeNull();
  });
});
