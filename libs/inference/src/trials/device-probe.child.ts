import { errorText } from '#common/values';
import { describeLibraryDevice, registerProviderLibraries } from '../runtime/c-api/provider-libraries.js';
import { listVulkanDevices, NoVulkanDevice } from '../runtime/devices/vulkan-devices.js';
import type { ProbedDevices, ProbedLibrary, ProbeRequest } from './provider-devices.js';

/* Runs as a separate process: a driver or a library may crash it. */

function probeVulkan(): ProbedDevices {
  try {
    return { devices: listVulkanDevices() };
  } catch (error) {
    return { missing: errorText(error), ...(error instanceof NoVulkanDevice && { isAbsent: true }) };
  }
}

function probeLibrary({ provider, path }: { provider: string; path: string }): ProbedLibrary {
  try {
    registerProviderLibraries([{ provider, path }]);
    return { provider, device: describeLibraryDevice(provider) };
  } catch (error) {
    return { provider, broken: errorText(error) };
  }
}

const request = JSON.parse(process.argv[2] ?? '{}') as ProbeRequest;
const found = 'library' in request ? probeLibrary(request.library) : probeVulkan();
process.send?.(found, () => process.exit(0));
