import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnyEngineStats } from '../contract/engine.js';
import type { HostProcess } from './host-process.js';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostCommand, HostMessage } from './host-protocol.js';
import { HostSupervisor } from './host-supervisor.js';
import type { TaskResult } from './task-runner.js';

const load = { modelId: 'test' } as HostLoadOptions;

/** Host stub that is ready as soon as it is told to load; the test controls its messages and death. */
class ScriptedHost implements HostProcess {
  readonly pid = 1;
  private emit: (message: HostMessage) => void = () => undefined;
  private ended: (reason: string) => void = () => undefined;

  constructor(private readonly oneAtATime: boolean) {}

  send({ type }: HostCommand): void {
    if (type === 'drain') this.ended('exit code 0');
    if (type !== 'load') return;
    const { oneAtATime } = this;
    this.emit({ type: 'ready', provider: 'cpu', providerNote: null, slots: 1, loadMs: 0, oneAtATime });
  }

  onMessage(listener: (message: HostMessage) => void): void {
    this.emit = listener;
  }

  onExit(listener: (reason: string) => void): void {
    this.ended = listener;
  }

  kill(): void {
    this.die();
  }

  die(): void {
    this.ended('signal SIGSEGV');
  }

  heartbeat(): void {
    this.emit({ type: 'beat', stats: {} as AnyEngineStats, residentBytes: 0, loopLagMs: 0 });
  }

  finish(id: string): void {
    this.emit({ type: 'events', events: [[id, { type: 'task-finished', cancelled: false, output: { id } }]] });
  }
}

describe('the death of a host', () => {
  const supervisors: HostSupervisor[] = [];

  function begin({ oneAtATime }: { oneAtATime: boolean }) {
    const hosts: ScriptedHost[] = [];
    const launch = () => {
      hosts.push(new ScriptedHost(oneAtATime));
      return hosts.at(-1) as ScriptedHost;
    };
    const supervisor = new HostSupervisor({ load, launch, timings: { firstRestartMs: 1 } });
    supervisors.push(supervisor);
    supervisor.start();
    const ask = (id: string, signal = new AbortController().signal): Promise<TaskResult> => {
      const result = supervisor.runTask({ id, task: 'draw', input: {} }, { signal });
      // Tests handle the rejection themselves.
      result.catch(() => undefined);
      return result;
    };
    const die = async () => {
      const restarted = new Promise<void>((resolve) => {
        const stop = supervisor.onChange(({ state }) => {
          if (state !== 'ready') return;
          stop();
          resolve();
        });
      });
      hosts.at(-1)?.die();
      await restarted;
    };
    return { ask, die, finish: (id: string) => hosts.at(-1)?.finish(id), supervisor };
  }

  afterEach(async () => {
    await Promise.all(supervisors.splice(0).map((supervisor) => supervisor.drain(0)));
  });

  it('for its memory fails the running task at once, and runs the waiting ones again', async () => {
    const { ask, finish, supervisor } = begin({ oneAtATime: true });
    const [greedy, modest] = [ask('greedy'), ask('modest')];
    const restarted = new Promise((resolve) => supervisor.onChange(({ state }) => state === 'ready' && resolve(null)));
    supervisor.killForMemory('it uses 9 GB');
    await expect(greedy).rejects.toMatchObject({
      code: 'INFERENCE_FAILED',
      message: expect.stringContaining('needs more memory') as string,
    });
    await restarted;
    finish('modest#2');
    expect(await modest).toMatchObject({ cancelled: false });
  });

  it('counts only for the running task if tasks run one at a time', async () => {
    const { ask, die, finish } = begin({ oneAtATime: true });
    const [poison, innocent] = [ask('poison'), ask('innocent')];
    await die();
    await die();
    await expect(poison).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    finish('innocent#2');
    expect(await innocent).toEqual({ cancelled: false, output: { id: 'innocent#2' } });
  });

  it('counts for a task from its turn on', async () => {
    const { ask, die, finish } = begin({ oneAtATime: true });
    const [first, poison] = [ask('first'), ask('poison')];
    await die();
    finish('first#1');
    await first;
    await die();
    await die();
    await expect(poison).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });

  it('ends a task that was cancelled while it waited', async () => {
    const { ask, die } = begin({ oneAtATime: true });
    const controller = new AbortController();
    void ask('first');
    const waiting = ask('waiting', controller.signal);
    controller.abort();
    await die();
    expect(await waiting).toEqual({ cancelled: true, output: null });
  });

  it('counts for all requests if they run concurrently', async () => {
    const { ask, die } = begin({ oneAtATime: false });
    const runs = [ask('a'), ask('b')];
    await die();
    await die();
    for (const run of runs) await expect(run).rejects.toMatchObject({ code: 'DEVICE_LOST' });
  });
});

describe('the watchdog of a host', () => {
  let nowMs = 0;
  let supervisor: HostSupervisor;
  const hosts: ScriptedHost[] = [];

  beforeEach(() => {
    nowMs = 1_000;
    hosts.length = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const launch = () => {
      const host = new ScriptedHost(false);
      hosts.push(host);
      return host;
    };
    supervisor = new HostSupervisor({ load, launch, timings: { silentAfterMs: 15_000 } });
    supervisor.start();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await supervisor.drain(0);
  });

  /** Advances the worker's time. During the last `stoodStillMs` no timer runs. */
  function pass(ms: number, stoodStillMs = 0): void {
    nowMs += ms + stoodStillMs;
    vi.advanceTimersByTime(ms);
  }

  it('replaces a host that is silent for too long', () => {
    pass(15_000);
    expect(supervisor.restarts).toBe(1);
  });

  it('waits for a message first if the worker itself was paused', () => {
    pass(15_000, 60_000);
    expect(supervisor.restarts).toBe(0);
    hosts[0]?.heartbeat();
    pass(14_000);
    hosts[0]?.heartbeat();
    pass(14_999);
    expect(supervisor.restarts).toBe(0);
  });

  it('replaces a host that stays silent after such a pause', () => {
    pass(15_000, 60_000);
    pass(5_000);
    expect(supervisor.restarts).toBe(1);
  });
});
