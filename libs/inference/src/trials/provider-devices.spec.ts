import { describe, expect, it } from 'vitest';
import type { VulkanDevice } from '../runtime/devices/vulkan-devices.js';
import { chooseDevice } from './provider-devices.js';

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
    });
  });
});
