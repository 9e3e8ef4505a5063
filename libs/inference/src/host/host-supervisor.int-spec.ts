import { afterEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { processorQuota } from '#test/processor-quota';
import { runSourceArguments, sourcePath } from '#test/source-program';
import type { TextGenerationRequest } from '../contract/text-generation.js';
import { forkHost } from './host-process.js';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { type HostState, HostSupervisor, type HostTimings } from './host-supervisor.js';
import type { RunEvent, RunResult } from './text-generation-runner.js';

const launch = forkHost({ modulePath: sourcePath('test/harness/deterministic-host.ts'), execArgv: runSourceArguments });

const load: HostLoadOptions = {
  modelId: 'test',
  directory: '.',
  graphFile: 'none.onnx',
  family: 'none',
  familyOptions: {},
  providers: ['cpu'],
  intraOpThreads: 1,
  slots: 4,
  contextLength: 1_000,
  cacheTokens: 4_000,
};

function request(id: string, content: string): TextGenerationRequest {
  const messages = [{ role: 'user', content }];
  return { id, prompt: { messages }, n: 1, sampling: {}, stop: [], stopTokenIds: [], topLogprobs: null };
}

function until(supervisor: HostSupervisor, state: HostState): Promise<void> {
  if (supervisor.state === state) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = supervisor.onChange((change) => {
      if (change.state !== state) return;
      stop();
      resolve();
    });
  });
}

interface Started {
  events: RunEvent[];
  controller: AbortController;
  firstText: Promise<void>;
  result: Promise<RunResult>;
}

function run(
  supervisor: HostSupervisor,
  options: TextGenerationRequest,
  { onRestart }: { onRestart?: () => void } = {},
): Started {
  const events: RunEvent[] = [];
  const controller = new AbortController();
  let heardText: () => void = () => undefined;
  const firstText = new Promise<void>((resolve) => (heardText = resolve));
  const onEvents = (batch: RunEvent[]) => {
    events.push(...batch);
    if (batch.some((event) => event.type === 'text-delta')) heardText();
  };
  const result = supervisor.run(options, { signal: controller.signal, onEvents, onRestart });
  // Tests handle the rejection themselves.
  result.catch(() => undefined);
  return { events, controller, firstText, result };
}

const textOf = (events: RunEvent[]) => events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');

/** Whether this machine lets a test limit a process. */
const canLimit = ((quota) => (quota?.remove(), quota !== null))(processorQuota(1));

describe('a supervised model host', () => {
  const supervisors: HostSupervisor[] = [];

  async function ready(timings: Partial<HostTimings> = {}): Promise<HostSupervisor> {
    const supervisor = new HostSupervisor({
      load,
      launch,
      timings: { firstRestartMs: 20, afterSilenceMs: 20, ...timings },
    });
    supervisors.push(supervisor);
    supervisor.start();
    await until(supervisor, 'ready');
    return supervisor;
  }

  afterEach(async () => {
    await Promise.all(supervisors.splice(0).map((supervisor) => supervisor.drain(0)));
  });

  it('streams a request and counts the generated tokens', async () => {
    const supervisor = await ready();
    const { events, result } = run(supervisor, request('a', 'hello there [[tokens=5]]'));
    expect(await result).toMatchObject({ cancelled: false, usage: { promptTokens: 4, completionTokens: 5 } });
    expect(events[0]).toMatchObject({ type: 'prompt-ready', promptTokens: 4 });
    expect(events.at(-1)).toEqual({ type: 'choice-finished', index: 0, finishReason: 'stop' });
    expect(textOf(events).split(' ')).toHaveLength(5);
  });

  it('ends a run early when its signal aborts, with the usage so far', async () => {
    const supervisor = await ready();
    const { controller, firstText, result } = run(supervisor, request('a', '[[tokens=10000 delay=5]]'));
    await firstText;
    controller.abort();
    const { cancelled, usage } = await result;
    expect(cancelled).toBe(true);
    expect(usage.completionTokens).toBeGreaterThan(0);
    expect(usage.completionTokens).toBeLessThan(10_000);
  });

  it('sends nothing to the host if the signal was already aborted', async () => {
    const supervisor = await ready();
    const result = await supervisor.run(request('a', 'hello'), {
      signal: AbortSignal.abort(),
      onEvents: () => undefined,
    });
    expect(result).toMatchObject({ cancelled: true, usage: { promptTokens: 0, completionTokens: 0 } });
  });

  it('retries a request that has sent no text on the next host', async () => {
    const supervisor = await ready();
    // A stopped host cannot have read the request before it is killed.
    process.kill(supervisor.pid ?? 0, 'SIGSTOP');
    const { events, result } = run(supervisor, request('a', '[[tokens=3 delay=0]]'));
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    expect(await result).toMatchObject({ cancelled: false, usage: { completionTokens: 3 } });
    expect(events.filter((event) => event.type === 'prompt-ready')).toHaveLength(1);
    expect(supervisor.restarts).toBe(1);
  });

  it('fails a request that has sent text with DEVICE_LOST, and serves the next one', async () => {
    const supervisor = await ready();
    const { firstText, result } = run(supervisor, request('a', '[[tokens=10000 delay=5]]'));
    await firstText;
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    await expect(result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    const next = run(supervisor, request('b', '[[tokens=2]]'));
    expect(await next.result).toMatchObject({ usage: { completionTokens: 2 } });
  });

  it('restarts a request whose text can be revoked, and counts only the second run', async () => {
    const supervisor = await ready();
    let restarts = 0;
    const answer = run(supervisor, request('a', '[[tokens=6 delay=30]]'), { onRestart: () => (restarts += 1) });
    await answer.firstText;
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    expect(await answer.result).toMatchObject({ cancelled: false, usage: { completionTokens: 6 } });
    expect(restarts).toBe(1);
  });

  it('fails a request that kills its host twice, and stays up', async () => {
    const supervisor = await ready();
    const poison = run(supervisor, request('a', '[[crash]]'));
    await expect(poison.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    expect(supervisor.restarts).toBe(2);
    const next = run(supervisor, request('b', '[[tokens=2]]'));
    expect(await next.result).toMatchObject({ cancelled: false });
  });

  it('replaces a host whose device failed, and retries its request there', async () => {
    const supervisor = await ready();
    const lost = run(supervisor, request('a', '[[lose]]'));
    const innocent = run(supervisor, request('b', '[[tokens=3]]'));
    await expect(lost.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    expect(supervisor.restarts).toBe(2);
    await innocent.result.catch((error: unknown) => expect(error).toMatchObject({ code: 'DEVICE_LOST' }));
    await until(supervisor, 'ready');
    expect(await run(supervisor, request('c', '[[tokens=2]]')).result).toMatchObject({ cancelled: false });
  });

  it('does not affect requests of another model when a host dies', async () => {
    const [first, second] = await Promise.all([ready(), ready()]);
    const other = run(second, request('b', '[[tokens=50 delay=5]]'));
    await other.firstText;
    process.kill(first.pid ?? 0, 'SIGKILL');
    expect(await other.result).toMatchObject({ cancelled: false, usage: { completionTokens: 50 } });
    expect(second.restarts).toBe(0);
  });

  it('kills and replaces a silent host', async () => {
    const supervisor = await ready({ silentAfterMs: 2_500 });
    const hung = run(supervisor, request('a', '[[hang=1 delay=5]]'));
    await hung.firstText;
    await expect(hung.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    await until(supervisor, 'ready');
    expect(supervisor.restarts).toBe(1);
  });

  it('replaces a host that was stopped for good', async () => {
    const supervisor = await ready({ silentAfterMs: 2_000 });
    const stopped = supervisor.pid ?? 0;
    process.kill(stopped, 'SIGSTOP');
    await until(supervisor, 'restarting');
    await until(supervisor, 'ready');
    expect(supervisor.pid).not.toBe(stopped);
  });

  it('lets a host compute for longer than it may be idle', async () => {
    const supervisor = await ready({ silentAfterMs: 1_500 });
    const { result } = run(supervisor, request('a', '[[work=2000 tokens=2]]'));
    expect(await result).toMatchObject({ cancelled: false, usage: { completionTokens: 2 } });
    expect(supervisor.restarts).toBe(0);
  }, 120_000);

  it('ends a host in an endless loop', async () => {
    const supervisor = await ready({ silentAfterMs: 1_500 });
    const reasons: (string | null)[] = [];
    supervisor.onChange(({ reason }) => void reasons.push(reason));
    run(supervisor, request('a', '[[work=3600000 tokens=2]]'));
    await until(supervisor, 'restarting');
    expect(reasons.join()).toMatch(/silent for too long \(idle for \d+ s, busy for \d+ s/);
  }, 120_000);

  it.skipIf(!canLimit)('does not end a host that is starved of processor', async () => {
    const supervisor = await ready({ silentAfterMs: 1_500 });
    const quota = processorQuota(0.05);
    quota?.add(supervisor.pid ?? 0);
    try {
      // About ten seconds by the clock.
      const { result } = run(supervisor, request('a', '[[work=500 tokens=2]]'));
      expect(await result).toMatchObject({ cancelled: false, usage: { completionTokens: 2 } });
      expect(supervisor.restarts).toBe(0);
    } finally {
      quota?.remove();
    }
  });

  it('completes running requests on drain, rejects new ones, and exits', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=20 delay=5]]'));
    await running.firstText;
    const drained = supervisor.drain(10_000);
    await expect(run(supervisor, request('b', 'hello')).result).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await drained;
    expect(await running.result).toMatchObject({ cancelled: false, usage: { completionTokens: 20 } });
    expect(supervisor.state).toBe('gone');
  });

  it('returns requests that wait for a host immediately on drain', async () => {
    const supervisor = new HostSupervisor({ load, launch });
    supervisors.push(supervisor);
    supervisor.start();
    const waiting = run(supervisor, request('a', 'hello'));
    // Far longer than this test may take.
    const drained = supervisor.drain(600_000);
    await expect(waiting.result).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await drained;
    expect([supervisor.state, supervisor.running]).toEqual(['gone', 0]);
  });

  it('supports two concurrent drains', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=20 delay=5]]'));
    await running.firstText;
    await Promise.all([supervisor.drain(10_000), supervisor.drain(10_000)]);
    expect(supervisor.state).toBe('gone');
  });

  it('keeps a draining host alive while it sends messages', async () => {
    const supervisor = await ready({ silentAfterMs: 1_500 });
    const running = run(supervisor, request('a', '[[tokens=30 delay=80]]'));
    await running.firstText;
    await supervisor.drain(20_000);
    expect(await running.result).toMatchObject({ cancelled: false, usage: { completionTokens: 30 } });
  });

  it('returns running requests to the queue when the grace period of a drain ends', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=100000 delay=5]]'));
    await running.firstText;
    await supervisor.drain(10);
    await expect(running.result).rejects.toBeInstanceOf(PlatformError);
    await expect(running.result).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
  });
});
