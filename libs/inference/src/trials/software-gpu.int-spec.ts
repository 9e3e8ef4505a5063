import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isFull } from '#test/extent';
import { whileReady } from '#test/running-host';
import {
  findHalfFloatGpu,
  hasSoftwareGpu,
  runsInHalfFloats,
  softwareGpu,
  softwareGpuTimeouts,
} from '#test/software-gpu';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { installTinyModel, type TinyDtype } from '#test/tiny-models';
import { choosingLauncher } from './choosing-launcher.js';
import { forkHost } from '../host/host-process.js';
import { HostSupervisor } from '../host/host-supervisor.js';
import { hostLoadOptions } from '../host/load-options.js';
import { ProviderChooser } from './provider-chooser.js';
import { findProviderDevices } from './provider-devices.js';
import { TrialStore } from './trial-store.js';

/* WebGPU on software Vulkans, with half floats and without them: what a laptop's driver may lack as well. */

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-gpu-'));
});
afterAll(async () => {
  await rm(home, { recursive: true });
});

const launchOn = (driver: { VK_DRIVER_FILES: string }) =>
  forkHost({
    modulePath: sourcePath('libs/inference/src/host/model-host.main.ts'),
    execArgv: runSourceArguments,
    env: () => ({ ...process.env, ...driver }),
  });

const launch = launchOn(softwareGpu);

const installed = new Map<TinyDtype, ReturnType<typeof installTinyModel>>();

/** Loads a tiny model. One that computes in float16 has the layout of other exporters. */
async function hostOf(dtype: TinyDtype, providers: string[], launcher = launch): Promise<HostSupervisor> {
  const install =
    installed.get(dtype) ??
    installTinyModel(home, { id: `tiny-${dtype}`, dtype, ...(dtype === 'float16' && { layout: 'concat' }) });
  installed.set(dtype, install);
  const manifest = await install;
  const model = { manifest, directory: join(home, 'models', manifest.id) };
  return new HostSupervisor({ launch: launcher, load: hostLoadOptions(model, { providers, threads: 1, slots: 1 }) });
}

async function greedyText(host: HostSupervisor): Promise<string> {
  let text = '';
  const onEvents = (events: { type: string; text?: string }[]): void => {
    for (const event of events) if (event.type === 'text-delta') text += event.text ?? '';
  };
  const messages = [{ role: 'user' as const, content: 'the river runs past' }];
  await host.run(
    {
      id: 'one',
      prompt: { messages },
      n: 1,
      sampling: { temperature: 0 },
      maxTokens: 8,
      stop: [],
      stopTokenIds: [],
      topLogprobs: null,
    },
    { signal: new AbortController().signal, onEvents },
  );
  return text;
}

/** Runs a tiny model on the device and on the processor. */
async function expectTextOfProcessor(dtype: TinyDtype, cacheType: string, launcher = launch): Promise<void> {
  const texts: string[] = [];
  for (const provider of ['webgpu', 'cpu']) {
    const host = await hostOf(dtype, [provider], launcher);
    await whileReady(host, async () => {
      expect(host.report?.provider).toBe(provider);
      expect(host.report?.providerNote ?? '').not.toMatch(/skipped|run on the processor/);
      if (provider === 'webgpu') expect(host.report?.cacheType).toBe(cacheType);
      texts.push(await greedyText(host));
    });
  }
  expect(texts[0]).not.toBe('');
  expect(texts[1]).toBe(texts[0]);
}

describe.runIf(hasSoftwareGpu && !runsInHalfFloats)(
  'a model on a device without half floats',
  softwareGpuTimeouts,
  () => {
    // The table of the first one is float16, and the device reads it as floats. Trials below compare the other one.
    it.each(isFull ? (['int8-channel', 'float32'] as const) : (['int8-channel'] as const))(
      'runs there with the text of the processor: %s',
      async (dtype) => {
        await expectTextOfProcessor(dtype, 'float32');
      },
    );

    it('goes to the next provider of the list if it computes in them, and says what the device lacks', async () => {
      const host = await hostOf('float16', ['webgpu', 'cpu']);
      await whileReady(host, async () => {
        expect(host.report).toMatchObject({
          provider: 'cpu',
          providerNote: expect.stringMatching(/^webgpu skipped: .*f16/) as string,
        });
        expect(await greedyText(host)).not.toBe('');
      });
    });

    it('is not served where the list ends, and the operator reads why', async () => {
      const host = await hostOf('float16', ['webgpu']);
      await expect(whileReady(host, async () => undefined)).rejects.toThrow(/^load failed: .*f16.*; next try in/);
      expect(host.loadFailure).toMatch(/f16/);
    });
  },
);

const halfFloatGpu = findHalfFloatGpu();
const launchInHalfFloats = launchOn(typeof halfFloatGpu === 'string' ? softwareGpu : halfFloatGpu);
const leftOut = typeof halfFloatGpu === 'string' ? `: ${halfFloatGpu}` : '';

describe.runIf(leftOut === '')(`a model on a device with half floats${leftOut}`, softwareGpuTimeouts, () => {
  // The caches of the first one are half floats; the second one computes in them as a whole, and takes as long to compile.
  it.each(isFull ? (['float32', 'float16'] as const) : (['float32'] as const))(
    'runs there with the text of the processor: %s',
    async (dtype) => {
      await expectTextOfProcessor(dtype, 'float16', launchInHalfFloats);
    },
  );
});

describe.runIf(hasSoftwareGpu && !runsInHalfFloats)(
  'the choice of a provider on a software device',
  softwareGpuTimeouts,
  () => {
    beforeAll(() => void vi.stubEnv('VK_DRIVER_FILES', softwareGpu.VK_DRIVER_FILES));
    afterAll(() => void vi.unstubAllEnvs());

    const findDevices = () =>
      findProviderDevices(['webgpu'], {
        modulePath: sourcePath('libs/inference/src/trials/device-probe.child.ts'),
        execArgv: runSourceArguments,
      });

    /** Loads a tiny model on what is chosen for it, and returns what was tried. */
    async function choose(dtype: TinyDtype, allowsSoftware: boolean) {
      const tried: string[] = [];
      const trials = new TrialStore(home, (message) => tried.push(message));
      const devices = findDevices();
      const chooser = new ProviderChooser({ launch, devices, allowsSoftware, trials, log: (line) => tried.push(line) });
      const host = await hostOf(dtype, ['webgpu', 'cpu'], choosingLauncher(launch, chooser));
      let text = '';
      await whileReady(host, async () => void (text = await greedyText(host)));
      return { tried, text, provider: host.report?.provider, note: host.report?.providerNote };
    }

    it('knows the device by the name that its driver gives', async () => {
      const device = (await findDevices()).get('webgpu');
      expect(device).toMatchObject({ name: expect.stringMatching(/^SwiftShader/) as string, isSoftware: true });
    });

    it('is the processor, without a trial, unless software devices are allowed', async () => {
      const { provider, note, tried } = await choose('float32', false);
      expect([provider, note, tried]).toEqual([
        'cpu',
        expect.stringMatching(/^webgpu skipped: its only device computes on the processor \(SwiftShader .*\)/),
        [],
      ]);
    });

    it('is the device once it has computed what the processor computes, which is remembered', async () => {
      const first = await choose('float32', true);
      expect(first).toMatchObject({ provider: 'webgpu', note: null });
      expect(first.tried).toEqual([expect.stringMatching(/^trying tiny-float32 on webgpu \(SwiftShader/)]);
      const second = await choose('float32', true);
      expect(second).toEqual({ ...first, tried: [] });
    });

    it('is the processor where the device lacks a type, with the reason of the runtime', async () => {
      const { provider, note } = await choose('float16', true);
      expect([provider, note]).toEqual(['cpu', expect.stringMatching(/^webgpu skipped: .*f16/)]);
    });
  },
);
