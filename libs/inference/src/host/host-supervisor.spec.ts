import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnyEngineStats } from '../contract/engine.js';
import type { HostProcess } from './host-process.js';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostCommand, HostMessage } from './host-protocol.js';
import { HostSupervisor } from './host-supervisor.js';
import type { ProcessActivity } from './process-activity.js';
import type { TaskResult } from './task-runner.js';

const load = { modelId: 'test' } as HostLoadOptions;
const idle: ProcessActivity = { cpuMs: 0, waitedMs: 0, pageReads: 0, isRunnable: false };
/** Step of the worker's time in tests, in ms. */
const stepMs = 500;

/** Host stub that is ready as soon as it is told to load; the test controls its messages and death. */
class ScriptedHost implements HostProcess {
  readonly pid = 1;
  private emit: (message: HostMessage) => void = () => undefined;
  private ended: (reason: string) => void = () => undefined;

  /** `loadError`: why it cannot load. */
  constructor(
    private readonly oneAtATime: boolean,
    private readonly loadError: string | null = null,
  ) {}

  send({ type }: HostCommand): void {
    if (type === 'drain') this.ended('exit code 0');
    if (type !== 'load') return;
    if (this.loadError !== null) {
      const error = { code: 'INFERENCE_FAILED' as const, message: this.loadError };
      return this.emit({ type: 'load-failed', error, detail: this.loadError });
    }
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
    const supervisor = new HostSupervisor({ load, launch, timings: { firstRestartMs: 1 }, readActivity: () => null });
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

describe('a host that cannot be loaded', () => {
  const minuteMs = 60_000;

  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  it('counts as failed after ten tries with its last reason, is tried every ten minutes, and recovers', async () => {
    let loads = 0;
    let loadError: string | null = 'no device was found.';
    const launch = () => {
      loads += 1;
      return new ScriptedHost(false, loadError);
    };
    const supervisor = new HostSupervisor({ load, launch, readActivity: () => null });
    supervisor.start();
    expect([supervisor.hasFailed, supervisor.loadFailure]).toEqual([false, 'load failed: no device was found']);
    await vi.advanceTimersByTimeAsync(5 * minuteMs);
    expect([loads, supervisor.hasFailed]).toEqual([10, true]);
    await vi.advanceTimersByTimeAsync(30 * minuteMs);
    expect(loads).toBe(13);
    loadError = null;
    await vi.advanceTimersByTimeAsync(10 * minuteMs);
    expect([supervisor.state, supervisor.hasFailed, supervisor.loadFailure]).toEqual(['ready', false, null]);
    await supervisor.drain(0);
  });
});

describe('the watchdog of a host', () => {
  let nowMs = 0;
  let supervisor: HostSupervisor;
  let reasons: string[] = [];
  /** What the host does per ms of the worker's time; null: nothing can be read. */
  let rate: { cpuMs: number; waitedMs: number } | null = null;
  let activity: ProcessActivity = idle;
  const hosts: ScriptedHost[] = [];

  beforeEach(() => {
    nowMs = 1_000;
    hosts.length = 0;
    reasons = [];
    rate = null;
    activity = idle;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const launch = () => {
      const host = new ScriptedHost(false);
      hosts.push(host);
      return host;
    };
    const readActivity = () => (rate === null ? null : activity);
    supervisor = new HostSupervisor({ load, launch, timings: { silentAfterMs: 15_000 }, readActivity });
    supervisor.onChange(({ reason }) => void (reason !== null && reasons.push(reason)));
    supervisor.start();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await supervisor.drain(0);
  });

  /** Advances the worker's time, and what its host has done. */
  function pass(ms: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      const { cpuMs, waitedMs } = rate ?? { cpuMs: 0, waitedMs: 0 };
      const more = { cpuMs: activity.cpuMs + cpuMs * stepMs, waitedMs: activity.waitedMs + waitedMs * stepMs };
      activity = { ...activity, ...more };
      nowMs += stepMs;
      vi.advanceTimersByTime(stepMs);
    }
  }

  it('replaces a host that is silent for too long, after a moment', () => {
    pass(14_500);
    expect(supervisor.restarts).toBe(0);
    pass(500);
    expect(supervisor.restarts).toBe(1);
    expect(reasons).toEqual([
      'silent for too long (idle for 15 s, busy for 0 s, starved for 0 s); next try in 5000 ms',
    ]);
    pass(4_500);
    expect(hosts).toHaveLength(1);
    pass(500);
    expect(hosts).toHaveLength(2);
  });

  it('does not count the time in which the worker itself was paused', () => {
    pass(12_000);
    nowMs += 60_000;
    pass(1_500);
    expect(supervisor.restarts).toBe(0);
    hosts[0]?.heartbeat();
    pass(14_000);
    hosts[0]?.heartbeat();
    pass(14_500);
    expect(supervisor.restarts).toBe(0);
  });

  it('replaces a host that stays silent after such a pause', () => {
    pass(12_000);
    nowMs += 60_000;
    pass(3_000);
    expect(supervisor.restarts).toBe(1);
  });

  it('waits for a host that gets a hundredth of a processor', () => {
    rate = { cpuMs: 0.01, waitedMs: 0.99 };
    pass(400_000);
    expect(supervisor.restarts).toBe(0);
  });

  it('waits four times as long for a host that computes, and then ends it', () => {
    rate = { cpuMs: 1, waitedMs: 0 };
    pass(50_000);
    expect(supervisor.restarts).toBe(0);
    pass(10_000);
    expect(supervisor.restarts).toBe(1);
  });

  it('examines no host that sends something', () => {
    rate = { cpuMs: 1, waitedMs: 0 };
    let readings = 0;
    const host = new ScriptedHost(false);
    const readActivity = () => {
      readings += 1;
      return null;
    };
    const other = new HostSupervisor({ load, launch: () => host, readActivity });
    other.start();
    for (let beats = 0; beats < 20; beats++) {
      host.heartbeat();
      pass(1_000);
    }
    expect(readings).toBe(0);
    pass(5_000);
    expect(readings).toBeGreaterThan(0);
    void other.drain(0);
  });
});
