import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whileReady } from '#test/running-host';
import { hasSoftwareGpu, softwareGpu, softwareGpuTimeouts } from '#test/software-gpu';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { installTinyModel, type TinyDtype } from '#test/tiny-models';
import { forkHost } from './host-process.js';
import { HostSupervisor } from './host-supervisor.js';
import { hostLoadOptions } from './load-options.js';

/* WebGPU on a software Vulkan, which has no half floats: what a laptop's driver may lack as well. */

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-gpu-'));
});
afterAll(async () => {
  await rm(home, { recursive: true });
});

const launch = forkHost({
  modulePath: sourcePath('libs/inference/src/host/model-host.main.ts'),
  execArgv: runSourceArguments,
  env: () => ({ ...process.env, ...softwareGpu }),
});

/** Loads a tiny model, whose table of embeddings is float16 unless all of it is float32. */
async function hostOf(dtype: TinyDtype, providers: string[]): Promise<HostSupervisor> {
  const manifest = await installTinyModel(home, { id: `tiny-${dtype}`, dtype });
  const model = { manifest, directory: join(home, 'models', manifest.id) };
  return new HostSupervisor({ launch, load: hostLoadOptions(model, { providers, threads: 1, slots: 1 }) });
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

describe.runIf(hasSoftwareGpu)('a model on a device without half floats', softwareGpuTimeouts, () => {
  it('runs there if it has none, with the text of the processor', async () => {
    const texts: string[] = [];
    for (const provider of ['webgpu', 'cpu']) {
      const host = await hostOf('float32', [provider]);
      await whileReady(host, async () => {
        expect(host.report).toMatchObject({ provider, providerNote: null });
        texts.push(await greedyText(host));
      });
    }
    expect(texts[0]).not.toBe('');
    expect(texts[1]).toBe(texts[0]);
  });

  it('goes to the next provider of the list if it has some, and says what the device lacks', async () => {
    const host = await hostOf('int8', ['webgpu', 'cpu']);
    await whileReady(host, async () => {
      expect(host.report).toMatchObject({
        provider: 'cpu',
        providerNote: expect.stringMatching(/^webgpu skipped: .*f16/) as string,
      });
      expect(await greedyText(host)).not.toBe('');
    });
  });

  it('is not served where the list ends, and the operator reads why', async () => {
    const host = await hostOf('int8', ['webgpu']);
    await expect(whileReady(host, async () => undefined)).rejects.toThrow(/^load failed: .*f16.*; next try in/);
    expect(host.loadFailure).toMatch(/f16/);
  });
});
