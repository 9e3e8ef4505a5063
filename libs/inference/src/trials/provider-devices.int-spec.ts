import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { findProviderDevices } from './provider-devices.js';

const child = {
  modulePath: sourcePath('libs/inference/src/trials/device-probe.child.ts'),
  execArgv: runSourceArguments,
};

const hasNvidiaDriver = existsSync('/dev/nvidiactl') || existsSync('/proc/driver/nvidia/version');

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'sluice-devices-'))));
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

describe('the devices of providers', () => {
  it('are missing where no Vulkan driver is installed, with the reason', async () => {
    vi.stubEnv('VK_DRIVER_FILES', join(folder, 'none.json'));
    const webgpu = (await findProviderDevices(['webgpu', 'cpu'], child)).get('webgpu');
    expect(webgpu).toEqual({
      missing: expect.stringMatching(/^no device was found: .*Vulkan/) as string,
      isAbsent: true,
    });
  });

  it.skipIf(hasNvidiaDriver)('are missing for CUDA where there is no driver', async () => {
    expect(await findProviderDevices(['cuda'], child)).toEqual(
      new Map([['cuda', { missing: 'no device was found: there is no NVIDIA driver', isAbsent: true }]]),
    );
  });

  it('are missing where a driver crashes, which harms nobody', async () => {
    const crashing = join(folder, 'crash.mjs');
    await writeFile(crashing, 'process.abort();');
    expect(await findProviderDevices(['webgpu'], { modulePath: crashing })).toEqual(
      new Map([['webgpu', { missing: expect.stringMatching(/ended the process that asked it \(signal SIGABRT\)/) }]]),
    );
  });

  it('are not asked for where the list needs none', async () => {
    expect(await findProviderDevices(['cpu'], { modulePath: join(folder, 'none.mjs') })).toEqual(new Map());
  });

  it('are refused in a sentence where a library does not exist or is none', async () => {
    const text = join(folder, 'text.so');
    await writeFile(text, 'no library');
    const find = (path: string) => findProviderDevices(['npu'], { libraries: [{ provider: 'npu', path }], ...child });
    await expect(find('/nowhere/npu.so')).rejects.toThrow(
      'SLUICE_PROVIDER_LIBRARIES names /nowhere/npu.so, which cannot be used: there is no such file.',
    );
    await expect(find(text)).rejects.toThrow(
      /^SLUICE_PROVIDER_LIBRARIES names .*text\.so, which cannot be used: it is no library of an execution provider: .*/,
    );
  });
});
