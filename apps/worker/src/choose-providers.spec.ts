import { describe, expect, it } from 'vitest';
import { forkHost } from '#inference/host';
import type { ProviderDevices } from '#inference/trials';
import { createLogger } from '#platform/logging';
import { chooseProviders } from './choose-providers.js';

const none = { missing: 'no device was found', isAbsent: true } as const;
const card = { name: 'Card', driver: '7', isSoftware: false };

/** Returns the providers of a worker with these settings, and what it logs about them. */
async function choose(providers: string[], devices: [string, typeof none | typeof card][]) {
  const said: string[] = [];
  const note = (fields: unknown, message?: string) => void said.push(message ?? String(fields));
  const logger = Object.assign(createLogger('worker'), { info: note, warn: note });
  const chosen = await chooseProviders(forkHost({ env: () => ({}) }), {
    config: { home: '/nowhere', providers, providerLibraries: [], allowSoftwareGpu: false },
    logger,
    findDevices: () => Promise.resolve<ProviderDevices>(new Map(devices)),
  });
  return { providers: await chosen.providers, said };
}

describe('the providers of a worker', () => {
  const byDefault = ['cuda', 'webgpu', 'cpu'];

  it('are the processor on a machine without a GPU, which is said once', async () => {
    const devices: [string, typeof none][] = [
      ['cuda', none],
      ['webgpu', none],
    ];
    expect(await choose(byDefault, devices)).toEqual({
      providers: ['cpu'],
      said: ['models run on the processor: cuda: no device was found; webgpu: no device was found'],
    });
  });

  it('are those with a device, where nobody has chosen any', async () => {
    const devices: [string, typeof none | typeof card][] = [
      ['cuda', none],
      ['webgpu', card],
    ];
    expect(await choose(byDefault, devices)).toEqual({
      providers: ['webgpu', 'cpu'],
      said: ['cuda is not used: no device was found', 'webgpu has the device Card'],
    });
  });

  it('are all that the operator has named, whatever the machine has', async () => {
    expect((await choose(['webgpu', 'cpu'], [['webgpu', none]])).providers).toEqual(['webgpu', 'cpu']);
  });
});
