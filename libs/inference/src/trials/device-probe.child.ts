import { errorText } from '#common/values';
import { listVulkanDevices } from '../runtime/devices/vulkan-devices.js';
import type { ProbedDevices } from './provider-devices.js';

/* Runs as a separate process: a driver may crash it. */

function probe(): ProbedDevices {
  try {
    return { devices: listVulkanDevices() };
  } catch (error) {
    return { missing: errorText(error) };
  }
}

process.send?.(probe(), () => process.exit(0));
