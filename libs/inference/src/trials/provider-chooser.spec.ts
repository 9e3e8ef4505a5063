import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { choosingLauncher } from './choosing-launcher.js';
import type { HostProcess } from '../host/host-process.js';
import type { HostCommand, HostMessage } from '../host/host-protocol.js';
import { ProviderChooser } from './provider-chooser.js';
import type { ProviderDevice, ProviderDevices } from './provider-devices.js';
import { TrialStore } from './trial-store.js';

/** How hosts behave on a provider. */
interface Behavior {
  ms?: number;
  value?: number;
  hasShortRun?: boolean;
  loadFailure?: string;
  /** How the process ends while it loads. */
  ends?: string;
  isRandom?: boolean;
  hangs?: boolean;
}

const card: ProviderDevice = { name: 'Card', driver: '7', isSoftware: false };
const software: ProviderDevice = { name: 'SwiftShader', driver: '5', isSoftware: true };

let home: string;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), 'sluice-chooser-'))));
afterEach(() => rm(home, { recursive: true, force: true }));

const loadOf = (...providers: string[]) =>
  ({ modelId: 'tiny', directory: home, graphFile: 'none.onnx', providers, contextLength: 10 }) as HostLoadOptions;

/** A machine with its hosts, which notes the loads of all of them. */
function machine(behaviors: Record<string, Behavior>, devices: Record<string, ProviderDevice | { missing: string }>) {
  const loads: string[][] = [];
  const warnings: string[] = [];
  const launch = (): HostProcess => {
    const behaves = (provider = ''): Behavior => behaviors[provider] ?? {};
    let [provider, listener]: [string | undefined, (message: HostMessage) => void] = [undefined, () => undefined];
    let exited: (reason: string) => void = () => undefined;
    const answer = (message: HostMessage) => setImmediate(() => listener(message));
    const load = ({ providers }: HostLoadOptions) => {
      loads.push(providers);
      [provider] = providers;
      const { loadFailure, ends, hangs = false } = behaves(provider);
      if (hangs) return;
      if (ends !== undefined) return void setImmediate(() => exited(ends));
      if (loadFailure === undefined) return answer({ type: 'ready' } as HostMessage);
      return answer({ type: 'load-failed', detail: loadFailure } as HostMessage);
    };
    return {
      pid: 1,
      send: (command: HostCommand) => {
        if (command.type === 'load') load(command.options);
        if (command.type !== 'try') return;
        const { ms = 10, value = 1, hasShortRun = true, isRandom = false } = behaves(provider);
        const result = { tokens: [], values: [{ value }] };
        const measure = hasShortRun ? { provider: provider ?? '', ms, result, isRepeatable: !isRandom } : null;
        answer({ type: 'tried', measure });
      },
      onMessage: (heard) => void (listener = heard),
      onExit: (heard) => void (exited = heard),
      kill: () => undefined,
    };
  };
  const chooser = (allowsSoftware = false): ProviderChooser => {
    const found: ProviderDevices = new Map(Object.entries(devices));
    const trials = new TrialStore(home, (message) => void warnings.push(message));
    return new ProviderChooser({
      launch,
      devices: Promise.resolve(found),
      allowsSoftware,
      trials,
      log: () => undefined,
    });
  };
  const { signal } = new AbortController();
  const choose = (providers: string[], allowsSoftware = false) =>
    chooser(allowsSoftware).choose(loadOf(...providers), signal);
  return { choose, chooser, launch, loads, warnings };
}

describe('the provider of a model', () => {
  it('is a device that computes the same in less time, and is tried once', async () => {
    const { choose, loads } = machine({ webgpu: { ms: 3, value: 1.01 }, cpu: { ms: 9 } }, { webgpu: card });
    const chosen = { providers: ['webgpu', 'cpu'], skippedProviders: [] };
    expect(await choose(['webgpu', 'cpu'])).toEqual(chosen);
    expect(loads).toEqual([['webgpu'], ['cpu']]);
    expect(await choose(['webgpu', 'cpu'])).toEqual(chosen);
    expect(loads).toHaveLength(2);
  });

  it.each<[string, Behavior, string]>([
    ['is slower', { ms: 12.34 }, 'its trial took 12.3 ms, that of the processor 10.0 ms'],
    [
      'computes something else',
      { ms: 1, value: 2 },
      'it does not compute what the processor does: the result.0.value has 2 at 0, not 1',
    ],
    ['fails', { loadFailure: 'Gather requires f16.' }, 'Gather requires f16'],
    ['crashes', { ends: 'signal SIGSEGV' }, 'the process of its trial ended (signal SIGSEGV)'],
  ])('is the next one of the list where a device %s, which is remembered', async (_how, webgpu, reason) => {
    const { choose, loads } = machine({ webgpu }, { webgpu: card });
    const chosen = { providers: ['cpu'], skippedProviders: [`webgpu skipped: ${reason}`] };
    expect(await choose(['webgpu', 'cpu'])).toEqual(chosen);
    const attempts = loads.length;
    expect(await choose(['webgpu', 'cpu'])).toEqual(chosen);
    expect(loads).toHaveLength(attempts);
  });

  it('is tried again where the process was ended from outside, as for memory', async () => {
    const { choose, loads } = machine({ webgpu: { ends: 'signal SIGKILL' } }, { webgpu: card });
    for (const attempts of [1, 2]) {
      expect(await choose(['webgpu', 'cpu'])).toMatchObject({ providers: ['cpu'] });
      expect(loads).toHaveLength(attempts);
    }
  });

  it('never is the processor where the list lacks it, and the speed of the only one counts for nothing', async () => {
    expect(await machine({ webgpu: { ms: 99 } }, { webgpu: card }).choose(['webgpu'])).toEqual({
      providers: ['webgpu'],
      skippedProviders: [],
    });
    await rm(home, { recursive: true });
    expect(await machine({ webgpu: { value: 5 } }, { webgpu: card }).choose(['webgpu'])).toMatchObject({
      providers: [],
    });
  });

  it('is left to the load where nothing is known of a device, and is not one that is missing', async () => {
    const { choose, loads } = machine({}, { webgpu: { missing: 'no device was found' } });
    expect(await choose(['cuda', 'webgpu', 'cpu'])).toEqual({
      providers: ['cuda', 'cpu'],
      skippedProviders: ['webgpu skipped: no device was found'],
    });
    expect(loads).toEqual([]);
  });

  it('is a software device only where that is allowed, whatever its speed', async () => {
    const { choose } = machine({ webgpu: { ms: 99 } }, { webgpu: software });
    expect(await choose(['webgpu', 'cpu'])).toEqual({
      providers: ['cpu'],
      skippedProviders: [
        'webgpu skipped: its only device computes on the processor (SwiftShader), which SLUICE_ALLOW_SOFTWARE_GPU would allow',
      ],
    });
    expect(await choose(['webgpu', 'cpu'], true)).toEqual({ providers: ['webgpu', 'cpu'], skippedProviders: [] });
  });

  it.each<[string, Record<string, Behavior>, string]>([
    ['has no short run', { webgpu: { hasShortRun: false } }, 'models of its family have no short run'],
    [
      'draws random numbers',
      { webgpu: { ms: 1, value: 7 }, cpu: { isRandom: true } },
      'its results differ from run to run on the processor, too',
    ],
    [
      'does not run on the processor',
      { cpu: { loadFailure: 'too large' } },
      'the processor does not run it: too large',
    ],
  ])('is not compared where a model %s, which is said', async (_why, behaviors, reason) => {
    expect(await machine(behaviors, { webgpu: card }).choose(['webgpu', 'cpu'])).toEqual({
      providers: ['webgpu', 'cpu'],
      skippedProviders: [`webgpu was not compared: ${reason}`],
    });
  });

  it('compares several devices with one run of the processor', async () => {
    const { choose, loads } = machine({ cuda: { ms: 50 }, webgpu: { ms: 1 } }, { cuda: card, webgpu: card });
    expect(await choose(['cuda', 'webgpu', 'cpu'])).toMatchObject({ providers: ['webgpu', 'cpu'] });
    expect(loads).toEqual([['cuda'], ['cpu'], ['webgpu']]);
  });

  it('is not tried for a host that has ended meanwhile', async () => {
    const { chooser, loads } = machine({ webgpu: { ms: 1 } }, { webgpu: card });
    await chooser().choose(loadOf('webgpu', 'cpu'), AbortSignal.abort());
    expect(loads).toEqual([]);
  });

  it('is tried anew with another driver', async () => {
    const behaviors = { webgpu: { ms: 1 } };
    await machine(behaviors, { webgpu: card }).choose(['webgpu', 'cpu']);
    const { choose, loads } = machine(behaviors, { webgpu: { ...card, driver: '8' } });
    await choose(['webgpu', 'cpu']);
    expect(loads).toHaveLength(2);
  });
});

describe('a host whose provider is chosen', () => {
  it('is told the choice, and a crash while it loads refuses the provider from then on', async () => {
    const scene = machine({ webgpu: { ms: 1 } }, { webgpu: card });
    expect((await scene.choose(['webgpu', 'cpu'])).providers).toEqual(['webgpu', 'cpu']);
    const crashing = machine({ webgpu: { ends: 'signal SIGABRT' } }, { webgpu: card });
    const host = choosingLauncher(crashing.launch, crashing.chooser())(loadOf('webgpu', 'cpu'));
    const exit = new Promise<string>((resolve) => host.onExit(resolve));
    host.send({ type: 'load', options: loadOf('webgpu', 'cpu') });
    expect(await exit).toBe('signal SIGABRT');
    expect(crashing.loads).toEqual([['webgpu', 'cpu']]);
    expect(await crashing.choose(['webgpu', 'cpu'])).toEqual({
      providers: ['cpu'],
      skippedProviders: ['webgpu skipped: the process ended while the model was loaded (signal SIGABRT)'],
    });
  });

  it('goes to the next device of the list where the load fails on the chosen one, and then to the processor', async () => {
    const devices = { cuda: card, webgpu: card };
    const scene = machine({ cuda: { ms: 1 }, webgpu: { ms: 2 } }, devices);
    const list = ['cuda', 'webgpu', 'cpu'];
    const chooser = scene.chooser();
    const choose = () => chooser.choose(loadOf(...list), new AbortController().signal);
    expect((await choose()).providers).toEqual(['cuda']);
    const failing = machine(
      { cuda: { loadFailure: 'out of memory.' }, webgpu: { loadFailure: 'too large.' } },
      devices,
    );
    const host = choosingLauncher(failing.launch, chooser)(loadOf(...list));
    const failed = new Promise<void>((resolve) => host.onMessage(({ type }) => type === 'load-failed' && resolve()));
    host.send({ type: 'load', options: loadOf(...list) });
    await failed;
    expect(await choose()).toEqual({
      providers: ['webgpu', 'cpu'],
      skippedProviders: ['cuda skipped: out of memory'],
    });
  });

  it('says that it waits for its load as long as trials take', async () => {
    vi.useFakeTimers();
    const { launch, chooser } = machine({ webgpu: { hangs: true } }, { webgpu: card });
    const host = choosingLauncher(launch, chooser())(loadOf('webgpu', 'cpu'));
    const heard: string[] = [];
    host.onMessage(({ type }) => void heard.push(type));
    host.send({ type: 'load', options: loadOf('webgpu', 'cpu') });
    await vi.advanceTimersByTimeAsync(100_000);
    expect(heard).toEqual(['hello', 'hello', 'hello']);
    host.kill();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(heard).toHaveLength(3);
    vi.useRealTimers();
  });

  it('starts at once where the list begins with the processor', () => {
    const { launch, chooser } = machine({}, {});
    const hosts: HostProcess[] = [];
    const started = choosingLauncher(() => {
      const host = launch();
      hosts.push(host);
      return host;
    }, chooser())(loadOf('cpu'));
    expect(hosts).toEqual([started]);
  });
});

describe('remembered trials', () => {
  it('are bounded in number and age', async () => {
    const folder = join(home, 'provider-trials');
    const scene = machine({ webgpu: { ms: 1 } }, { webgpu: card });
    await scene.choose(['webgpu', 'cpu']);
    const [name = ''] = await readdir(folder);
    const longAgo = new Date(Date.now() - 91 * 86_400_000);
    await utimes(join(folder, name), longAgo, longAgo);
    for (let index = 0; index < 515; index += 1) await writeFile(join(folder, `${index}.json`), '{}');
    await utimes(join(folder, '7.json'), longAgo, longAgo);
    await scene.choose(['webgpu', 'cpu']);
    expect(scene.loads).toHaveLength(4);
    const names = await readdir(folder);
    expect([names.length, names.includes('7.json'), names.includes(name)]).toEqual([512, false, true]);
  });

  it('are not needed to serve a model', async () => {
    await rm(home, { recursive: true });
    await writeFile(home, 'a file in the place of the folder');
    const { choose, warnings } = machine({ webgpu: { ms: 1 } }, { webgpu: card });
    for (let time = 0; time < 2; time += 1) expect((await choose(['webgpu', 'cpu'])).providers).toContain('webgpu');
    expect(warnings).toEqual(['trials of providers are not remembered', 'trials of providers are not remembered']);
  });
});
