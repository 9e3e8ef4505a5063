import { createRequire } from 'node:module';
import type Koffi from 'koffi';
import { errorText } from '#common/values';

/** A device that a Vulkan driver of this machine offers. */
export interface VulkanDevice {
  name: string;
  /** Version of the driver, as the driver encodes it. */
  driver: string;
  kind: 'discrete' | 'integrated' | 'virtual' | 'software' | 'other';
}

/** The machine has no driver that could offer a device. */
export class NoVulkanDevice extends Error {
  override readonly name = 'NoVulkanDevice';
}

/** Members of VkPhysicalDeviceType. */
const kinds: readonly VulkanDevice['kind'][] = ['other', 'integrated', 'discrete', 'virtual', 'software'];

/** Names of drivers that compute on the processor, should one call itself something else. */
const softwareNames = /llvmpipe|lavapipe|swiftshader/i;

/** Bytes of VkInstanceCreateInfo, which is all zeros here, and of VkPhysicalDeviceProperties, with room for more. */
const createInfoBytes = 64;
const propertiesBytes = 2_048;

/** Places in VkPhysicalDeviceProperties. */
const driverVersionAt = 4;
const kindAt = 16;
const nameAt = 20;
const nameBytes = 256;

/**
 * Lists the devices of the Vulkan drivers, which run in this process: call it where a crash does no harm. Throws why
 * there are none.
 */
export function listVulkanDevices(): VulkanDevice[] {
  const require = createRequire(import.meta.url);
  const koffi = require('koffi') as typeof Koffi;
  const library = loadLibrary(koffi);
  const create = library.func('int vkCreateInstance(void *info, void *allocator, _Out_ void **instance)');
  const enumerate = library.func('int vkEnumeratePhysicalDevices(void *instance, _Inout_ uint32_t *count, void *list)');
  const describe = library.func('void vkGetPhysicalDeviceProperties(void *device, void *properties)');
  // The type of the structure, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, is 1.
  const info = new Uint32Array(createInfoBytes / 4);
  info[0] = 1;
  const instance: unknown[] = [null];
  if (create(info, null, instance) !== 0) throw new NoVulkanDevice('no Vulkan driver is installed');
  const count = [0];
  enumerate(instance[0], count, null);
  const list = new BigUint64Array(count[0] ?? 0);
  enumerate(instance[0], count, list);
  return Array.from(list, (device) => {
    const properties = Buffer.alloc(propertiesBytes);
    describe(device, properties);
    const name = properties.toString('utf8', nameAt, nameAt + nameBytes).split('\0', 1)[0] ?? '';
    const kind = softwareNames.test(name) ? 'software' : (kinds[properties.readUInt32LE(kindAt)] ?? 'other');
    return { name, driver: properties.readUInt32LE(driverVersionAt).toString(16), kind };
  });
}

function loadLibrary(koffi: typeof Koffi): ReturnType<typeof Koffi.load> {
  try {
    return koffi.load('libvulkan.so.1');
  } catch (error) {
    throw new NoVulkanDevice(`there is no Vulkan loader (${errorText(error).split('\n', 1)[0]})`, { cause: error });
  }
}
