import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BusMembership } from './cluster-membership.js';
import { BusKeys } from '../trust/bus/bus-keys.js';
import { SignedBus } from '../trust/bus/signed-bus.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import type { MessageBus } from '../contract/message-bus.js';

const timing = { heartbeatMs: 1_000, lostAfterMs: 4_000 };

/** A bus of one process that delivers its own messages and those of `others`, unless the link is silent. */
class TestLink {
  isSilent = false;
  private hear: (text: string) => void = () => undefined;

  readonly bus = {
    publish: async (_channel: string, text: string) => this.deliver(text),
    subscribe: async (_channel: string, listener: (text: string) => void) => {
      this.hear = listener;
      return () => undefined;
    },
    onReconnect: () => () => undefined,
    onDropped: () => undefined,
    isConnected: () => true,
  } as unknown as MessageBus;

  others(processId: string, parts: object = {}): void {
    this.deliver(JSON.stringify({ ...heartbeatOf(processId), alive: true, ...parts }));
  }

  private deliver(text: string): void {
    if (!this.isSilent) this.hear(text);
  }
}

function heartbeatOf(processId: string): Omit<Heartbeat, 'alive'> {
  return { processId, role: 'worker', replyAddress: null, models: [] };
}

let link: TestLink;
let membership: BusMembership;

beforeEach(async () => {
  vi.useFakeTimers();
  link = new TestLink();
  const clock = { nowMs: () => Date.now(), monotonicMs: () => Date.now() };
  const options = { keys: new BusKeys([]), namespace: 'test', clock, warn: () => undefined };
  membership = new BusMembership(new SignedBus(link.bus, options), clock, timing);
  await membership.start();
  await membership.join(() => heartbeatOf('us'));
  link.others('them');
});

afterEach(async () => {
  await membership.close();
  vi.useRealTimers();
});

const heard = () => membership.list().map(({ processId }) => processId);

describe('what workers say about their process', () => {
  const process = { host: 'gpu-1', address: '10.0.0.7:3001', version: '20261122.000000', startedAtMs: 7 };
  const worker = (more: object) => ({ worker: { pools: [], budgets: {}, withoutReplica: [], ...more } });

  it('is kept, and may be absent, as from earlier versions', () => {
    link.others('new', worker({ process, isDrained: true }));
    link.others('old', worker({}));
    expect(membership.list().map(({ worker: said }) => said?.process ?? null)).toEqual([null, null, process, null]);
    expect(membership.list().map(({ worker: said }) => said?.isDrained ?? false)).toEqual([false, false, true, false]);
  });

  it.each([
    { process: { ...process, host: 'x'.repeat(201) } },
    { process: { ...process, pod: 7 } },
    { process: { ...process, startedAtMs: -1 } },
    { process: 'gpu-1' },
    { isDrained: 'yes' },
  ])('is not %j', (said) => {
    link.others('forged', worker(said));
    expect(heard()).toEqual(['us', 'them']);
  });
});

describe('workers that fall silent', () => {
  const worker = (pools: string[]) => ({ worker: { pools, budgets: {}, withoutReplica: [] } });

  it('are counted by pool, unless they leave, and pools that lost none have a zero', async () => {
    link.others('w1', worker(['text']));
    link.others('w2', worker(['text', 'gpu']));
    link.others('api', { role: 'api' });
    link.others('w3', worker(['video']));
    link.others('w3', { ...worker(['video']), alive: false });
    expect(Object.fromEntries(membership.lostWorkers)).toEqual({ default: 0, text: 0, 'text+gpu': 0, video: 0 });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(Object.fromEntries(membership.lostWorkers)).toEqual({ default: 1, text: 1, 'text+gpu': 1, video: 0 });
  });

  it('have at most 100 names of pools, whatever their workers say', () => {
    for (let count = 0; count < 300; count += 1) link.others(`w${count}`, worker([`pool-${count}`]));
    expect(membership.lostWorkers.size).toBe(100);
  });
});

describe('membership over a silent link', () => {
  it('loses silent processes while it receives its own heartbeats', async () => {
    await vi.advanceTimersByTimeAsync(5_000);
    expect(heard()).toEqual(['us']);
  });

  it('loses no process while it does not receive its own heartbeats either', async () => {
    link.isSilent = true;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(heard()).toEqual(['us', 'them']);
  });

  it('restarts the silence of others once it receives its own heartbeats again', async () => {
    link.isSilent = true;
    await vi.advanceTimersByTimeAsync(10_000);
    link.isSilent = false;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(heard()).toEqual(['us', 'them']);
    expect(membership.lagMs).toBe(0);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(heard()).toEqual(['us']);
  });

  it('does not blame its own connection indefinitely', async () => {
    link.isSilent = true;
    await vi.advanceTimersByTimeAsync(40_000);
    expect(heard()).toEqual([]);
  });
});

describe('heartbeats of a worker that does as it likes', () => {
  const model = { modelId: 'm', modalities: ['chat'], state: 'ready', slots: 1, running: 0, provider: 'cpu' };

  it.each([
    { models: null },
    { models: [null] },
    { models: [{ ...model, modalities: 'chat' }] },
    { models: [{ ...model, slots: '1' }] },
    { claims: 'chat.m' },
    { role: 'admin' },
    { replyAddress: {} },
    { worker: {} },
    { worker: { pools: ['p'], budgets: { cpu: 'all' }, withoutReplica: [] } },
    { count: 'many' },
  ])('are dropped when nothing of ours sends them: %j', (parts) => {
    link.others('hostile', parts);
    link.others('honest', { models: [model] });
    expect(heard().toSorted()).toEqual(['honest', 'them', 'us']);
  });

  it('do not make this process send as many', async () => {
    const publish = vi.spyOn(link.bus, 'publish');
    for (let index = 0; index < 1_000; index += 1) link.others(`made-up-${index}`);
    await vi.advanceTimersByTimeAsync(500);
    expect(publish.mock.calls.length).toBeLessThan(5);
    link.others('newcomer');
    await vi.advanceTimersByTimeAsync(500);
    expect(publish.mock.calls.length).toBeGreaterThan(0);
  });
});

describe('heartbeats that overtake each other', () => {
  const claims = () => membership.list().find(({ processId }) => processId === 'worker')?.claims;

  it('leave the newest one in effect, whichever arrives last', () => {
    link.others('worker', { run: 'a', count: 2, claims: ['chat.m'] });
    link.others('worker', { run: 'a', count: 1 });
    expect(claims()).toEqual(['chat.m']);
    link.others('worker', { run: 'a', count: 3 });
    expect(claims()).toBeUndefined();
  });

  it('show that their process is there', async () => {
    link.others('worker', { run: 'a', count: 2 });
    for (let second = 0; second < 6; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      link.others('worker', { run: 'a', count: 1 });
    }
    expect(heard()).toContain('worker');
  });

  it('have no effect once their run has left, and the leave message has none on the next run', () => {
    link.others('worker', { run: 'a', count: 1 });
    link.others('worker', { run: 'a', alive: false });
    link.others('worker', { run: 'a', count: 2 });
    expect(heard()).not.toContain('worker');
    link.others('worker', { run: 'b', count: 1 });
    link.others('worker', { run: 'a', alive: false });
    expect(heard()).toContain('worker');
  });

  it('belong to one run: a restarted process starts counting again', () => {
    link.others('worker', { run: 'a', count: 9, claims: ['chat.m'] });
    link.others('worker', { run: 'b', count: 1 });
    expect(claims()).toBeUndefined();
  });
});
