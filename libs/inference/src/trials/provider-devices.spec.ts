import { describe, expect, it } from 'vitest';
import type { VulkanDevice } from '../runtime/devices/vulkan-devices.js';
import { chooseDevice, type ProviderDevices, withoutAbsent } from './provider-devices.js';

const device = (name: string, kind: VulkanDevice['kind']): VulkanDevice => ({ name, kind, driver: '1' });

describe('the device of WebGPU', () => {
  it('is the one that the runtime prefers, and a software one only where there is no other', () => {
    const software = device('llvmpipe', 'software');
    const devices = [software, device('integrated', 'integrated'), device('card', 'discrete')];
    expect(chooseDevice({ devices })).toEqual({ name: 'card', driver: '1', isSoftware: false });
    expect(chooseDevice({ devices: devices.slice(0, 2) })).toMatchObject({ name: 'integrated' });
    expect(chooseDevice({ devices: [software] })).toMatchObject({ name: 'llvmpipe', isSoftware: true });
  });

  it('is missing with the reason', () => {
    expect(chooseDevice({ missing: 'no Vulkan driver is installed' })).toEqual({
      missing: 'no device was found: no Vulkan driver is installed',
    });
    expect(chooseDevice({ devices: [] })).toEqual({
      missing: 'no device was found: the Vulkan drivers offer none',
      isAbsent: true,
    });
  });
});

describe('providers that nobody has chosen', () => {
  const list = ['cuda', 'webgpu', 'cpu'];
  const software = { name: 'llvmpipe', driver: '1', isSoftware: true };
  const without = (
    devices: [string, typeof software | { missing: string; isAbsent?: true }][],
    allowsSoftware = false,
  ) => withoutAbsent(list, new Map(devices) satisfies ProviderDevices, { allowsSoftware });

  it('are the processor where the machine has no device, or only one that computes there', () => {
    const none = { missing: 'no device was found', isAbsent: true } as const;
    expect(
      without([
        ['cuda', none],
        ['webgpu', none],
      ]),
    ).toEqual(['cpu']);
    expect(
      without([
        ['cuda', none],
        ['webgpu', software],
      ]),
    ).toEqual(['cpu']);
    expect(
      without(
        [
          ['cuda', none],
          ['webgpu', software],
        ],
        true,
      ),
    ).toEqual(['webgpu', 'cpu']);
  });

  it('are kept where a driver failed, and where nothing is known', () => {
    expect(without([['webgpu', { missing: 'a Vulkan driver ended the process' }]])).toEqual(list);
  });
});
