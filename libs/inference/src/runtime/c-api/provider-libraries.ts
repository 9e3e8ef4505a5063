import { existsSync } from 'node:fs';
import { errorText } from '#common/values';
import { OrtApi, type Pointer } from './ort-api.js';

/** A library with an execution provider that the runtime does not bring along. */
export interface ProviderLibrary {
  /** By which `SLUICE_PROVIDERS` names it. */
  provider: string;
  path: string;
}

/** The device on which the provider of a library runs graphs. */
export interface LibraryDevice {
  name: string;
  /** Version of the library, as it says. */
  version: string;
}

/** Types of hardware (OrtHardwareDeviceType in the header): the processor, GPUs, and accelerators of neural networks. */
const preferredTypes: readonly unknown[] = [1, 2, 0];

/** The kind of memory (OrtDeviceMemoryType in the header) that is the device's own. */
const ofDevice = 0;

/** Devices of registered libraries, by provider: one each, or null where it has none here. */
const registered = new Map<string, Pointer | null>();

/** Adds providers to the runtime of this process, each once. Throws the reason for a library that cannot be used. */
export function registerProviderLibraries(libraries: readonly ProviderLibrary[]): void {
  for (const library of libraries) if (!registered.has(library.provider)) register(library);
}

/** True for the provider of a registered library. */
export function isOfLibrary(provider: string): boolean {
  return registered.has(provider);
}

/** Returns the device of the provider of a registered library. Throws where it has none. */
export function libraryDevice(provider: string): Pointer {
  const device = registered.get(provider) ?? null;
  if (device === null) throw new Error('its library has no device here');
  return device;
}

/** Returns the memory of that device, which the library owns; null where its tensors are in the processor's memory. */
export function libraryMemory(provider: string): Pointer | null {
  return OrtApi.open().get('EpDevice_MemoryInfo', libraryDevice(provider), ofDevice) as Pointer | null;
}

/** Describes the device of the provider; null where it has none. */
export function describeLibraryDevice(provider: string): LibraryDevice | null {
  const device = registered.get(provider) ?? null;
  if (device === null) return null;
  const api = OrtApi.open();
  const hardware = api.get('EpDevice_Device', device) as Pointer;
  const vendor = api.get('HardwareDevice_Vendor', hardware) as string;
  const id = api.get('HardwareDevice_DeviceId', hardware) as number;
  const metadata = api.get('EpDevice_EpMetadata', device) as Pointer;
  const version = (api.get('GetKeyValue', metadata, 'version') as string | null) ?? '';
  return { name: `${vendor} ${id.toString(16)}`, version };
}

function register({ provider, path }: ProviderLibrary): void {
  if (!existsSync(path)) throw new Error('there is no such file');
  const api = OrtApi.open();
  const before = new Set(listDevices(api));
  try {
    api.call('RegisterExecutionProviderLibrary', api.env, provider, path);
  } catch (error) {
    throw new Error(`it is no library of an execution provider: ${errorText(error)}`, { cause: error });
  }
  const added = listDevices(api).filter((device) => !before.has(device));
  registered.set(provider, preferredDevice(api, added));
}

function preferredDevice(api: OrtApi, devices: readonly Pointer[]): Pointer | null {
  const typeOf = (device: Pointer) => api.get('HardwareDevice_Type', api.get('EpDevice_Device', device) as Pointer);
  const rank = (device: Pointer) => preferredTypes.indexOf(typeOf(device));
  return devices.toSorted((one, other) => rank(one) - rank(other))[0] ?? null;
}

function listDevices(api: OrtApi): Pointer[] {
  const [list, count]: [(Pointer | null)[], number[]] = [[null], [0]];
  api.call('GetEpDevices', api.env, list, count);
  const [first] = list;
  return first === null || first === undefined ? [] : api.pointersAt(first, Number(count[0]));
}
