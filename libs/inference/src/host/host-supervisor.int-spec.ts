import { afterEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { runSourceArguments, sourcePath } from '#test/run-source';
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
  // Tests look at the rejection when they expect one.
  result.catch(() => undefined);
  return { events, controller, firstText, result };
}

const textOf = (events: RunEvent[]) => events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');

describe('a supervised model host', () => {
  const supervisors: HostSupervisor[] = [];

  async function ready(timings: Partial<HostTimings> = {}): Promise<HostSupervisor> {
    const supervisor = new HostSupervisor({ load, launch, timings: { firstRestartMs: 20, ...timings } });
    supervisors.push(supervisor);
    supervisor.start();
    await until(supervisor, 'ready');
    return supervisor;
  }

  afterEach(async () => {
    await Promise.all(supervisors.splice(0).map((supervisor) => supervisor.drain(0)));
  });

  it('streams a request and counts what was generated', async () => {
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

  it('sends nothing to the host for a signal that aborted before', async () => {
    const supervisor = await ready();
    const result = await supervisor.run(request('a', 'hello'), {
      signal: AbortSignal.abort(),
      onEvents: () => undefined,
    });
    expect(result).toMatchObject({ cancelled: true, usage: { promptTokens: 0, completionTokens: 0 } });
  });

  it('runs a request that has sent no text again on the next host', async () => {
    const supervisor = await ready();
    // A host that stands still cannot have read the request when it is killed.
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

  it('begins a request anew whose text can be taken back, and counts the second run alone', async () => {
    const supervisor = await ready();
    let restarts = 0;
    const answer = run(supervisor, request('a', '[[tokens=6 delay=30]]'), { onRestart: () => (restarts += 1) });
    await answer.firstText;
    process.kill(supervisor.pid ?? 0, 'SIGKILL');
    expect(await answer.result).toMatchObject({ cancelled: false, usage: { completionTokens: 6 } });
    expect(restarts).toBe(1);
  });

  it('gives up on a request that kills its host twice, and stays alive', async () => {
    const supervisor = await ready();
    const poison = run(supervisor, request('a', '[[crash]]'));
    await expect(poison.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    expect(supervisor.restarts).toBe(2);
    const next = run(supervisor, request('b', '[[tokens=2]]'));
    expect(await next.result).toMatchObject({ cancelled: false });
  });

  it('replaces a host whose device failed, and runs its request there once more', async () => {
    const supervisor = await ready();
    const lost = run(supervisor, request('a', '[[lose]]'));
    const innocent = run(supervisor, request('b', '[[tokens=3]]'));
    await expect(lost.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    expect(supervisor.restarts).toBe(2);
    await innocent.result.catch((error: unknown) => expect(error).toMatchObject({ code: 'DEVICE_LOST' }));
    await until(supervisor, 'ready');
    expect(await run(supervisor, request('c', '[[tokens=2]]')).result).toMatchObject({ cancelled: false });
  });

  it('leaves the requests of another model alone when a host dies', async () => {
    const [first, second] = await Promise.all([ready(), ready()]);
    const other = run(second, request('b', '[[tokens=50 delay=5]]'));
    await other.firstText;
    process.kill(first.pid ?? 0, 'SIGKILL');
    expect(await other.result).toMatchObject({ cancelled: false, usage: { completionTokens: 50 } });
    expect(second.restarts).toBe(0);
  });

  it('kills and replaces a host that falls silent', async () => {
    const supervisor = await ready({ silentAfterMs: 2_500 });
    const hung = run(supervisor, request('a', '[[hang=1 delay=5]]'));
    await hung.firstText;
    await expect(hung.result).rejects.toMatchObject({ code: 'DEVICE_LOST' });
    await until(supervisor, 'ready');
    expect(supervisor.restarts).toBe(1);
  });

  it('lets running requests end when it drains, refuses new ones, and leaves', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=20 delay=5]]'));
    await running.firstText;
    const drained = supervisor.drain(10_000);
    await expect(run(supervisor, request('b', 'hello')).result).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await drained;
    expect(await running.result).toMatchObject({ cancelled: false, usage: { completionTokens: 20 } });
    expect(supervisor.state).toBe('gone');
  });

  it('hands back at once, when it drains, what waits for a host that is not ready', async () => {
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

  it('lets two drain it at once', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=20 delay=5]]'));
    await running.firstText;
    await Promise.all([supervisor.drain(10_000), supervisor.drain(10_000)]);
    expect(supervisor.state).toBe('gone');
  });

  it('keeps a draining host alive as long as it is heard of', async () => {
    const supervisor = await ready({ silentAfterMs: 1_500 });
    const running = run(supervisor, request('a', '[[tokens=30 delay=80]]'));
    await running.firstText;
    await supervisor.drain(20_000);
    expect(await running.result).toMatchObject({ cancelled: false, usage: { completionTokens: 30 } });
  });

  it('hands back what is still running when the grace of a drain is over', async () => {
    const supervisor = await ready();
    const running = run(supervisor, request('a', '[[tokens=100000 delay=5]]'));
    await running.firstText;
    await supervisor.drain(10);
    await expect(running.result).rejects.toBeInstanceOf(PlatformError);
    await expect(running.result).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
  });
});
