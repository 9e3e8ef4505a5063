import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { release } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '#common';
import { environmentWithoutSecrets } from '#platform/config';
import { readNvidiaDriver } from '#platform/devices';
import type { LibraryDevice, ProviderLibrary } from '../runtime/c-api/provider-libraries.js';
import type { VulkanDevice } from '../runtime/devices/vulkan-devices.js';

/** The device on which a provider would run models. */
export interface ProviderDevice {
  name: string;
  driver: string;
  /** Computes on the processor, as SwiftShader and llvmpipe do. */
  isSoftware: boolean;
}

/** Why a provider has no device. */
export interface MissingDevice {
  missing: string;
  /** The machine has nothing that could be one: no GPU, or no driver of any. */
  isAbsent?: true;
}

/** By provider: its device, or why there is none. Providers that are not among them tell when they are loaded. */
export type ProviderDevices = ReadonlyMap<string, ProviderDevice | MissingDevice>;

/** The child process is asked for the devices of Vulkan drivers, or for that of a library. */
export type ProbeRequest = { vulkan: true } | { library: ProviderLibrary };

/** The answer of the child process. */
export type ProbedDevices = { devices: VulkanDevice[] } | MissingDevice;
export type ProbedLibrary = { provider: string } & ({ device: LibraryDevice | null } | { broken: string });

const probeModule = fileURLToPath(new URL('./device-probe.child.js', import.meta.url));
/** The part of the runtime that npm does not install by itself. */
const cudaLibrary = 'libonnxruntime_providers_cuda.so';
/** What a driver of NVIDIA leaves where its tool is missing or does not answer. */
const driverTraces = ['/dev/nvidiactl', '/proc/driver/nvidia/version'];
const probeTimeoutMs = 15_000;

/** The order in which the runtime prefers adapters. */
const preference: readonly VulkanDevice['kind'][] = ['discrete', 'integrated', 'virtual', 'other', 'software'];

/** Graphics interfaces of other systems than Linux. Their adapter is not read, so what it is shows in the trial. */
const interfaces: Partial<Record<NodeJS.Platform, string>> = { darwin: 'Metal', win32: 'Direct3D 12' };

export interface DeviceSearch {
  /** `SLUICE_PROVIDER_LIBRARIES`; default: none. */
  libraries?: readonly ProviderLibrary[];
  /** The program of the child process; default: that of this folder. */
  modulePath?: string;
  execArgv?: string[];
}

/**
 * Finds the devices of providers without loading the runtime in this process. Takes a fraction of a second. Rejects for
 * a library that cannot be used.
 */
export async function findProviderDevices(
  providers: readonly string[],
  { libraries = [], ...child }: DeviceSearch = {},
): Promise<ProviderDevices> {
  const found = new Map<string, ProviderDevice | MissingDevice>();
  const ofLibraries = await Promise.all(libraries.map((library) => findOfLibrary(library, child)));
  libraries.forEach(({ provider }, index) => void found.set(provider, ofLibraries[index] ?? { missing: '' }));
  const isOpen = (name: string) => providers.includes(name) && !found.has(name);
  const [webgpu, cuda] = await Promise.all([
    isOpen('webgpu') ? findWebGpu(child) : null,
    isOpen('cuda') ? findCuda() : null,
  ]);
  if (webgpu !== null) found.set('webgpu', webgpu);
  if (cuda !== null) found.set('cuda', cuda);
  return found;
}

/** Rejects with a sentence for the operator if the file is no such library. */
async function findOfLibrary(library: ProviderLibrary, child: DeviceSearch): Promise<ProviderDevice | MissingDevice> {
  const probed = await askChild<ProbedLibrary>({ library }, child, (how) => ({
    provider: library.provider,
    broken: `it ended the process that loaded it (${how})`,
  }));
  if ('broken' in probed) {
    const message = `SLUICE_PROVIDER_LIBRARIES names ${library.path}, which cannot be used: ${probed.broken}.`;
    throw new PlatformError('SERVICE_UNAVAILABLE', message);
  }
  if (probed.device === null) return { missing: 'no device was found: its library has none here' };
  const { name, version } = probed.device;
  // The runtime gives it no name: it is chosen by the operator, whatever it computes on.
  return { name, driver: version, isSoftware: false };
}

/** Null where libraries or tools of the driver are missing beside a device, which is said when a model is loaded. */
async function findCuda(): Promise<ProviderDevice | MissingDevice | null> {
  const driver = await readNvidiaDriver();
  const [device] = driver?.devices ?? [];
  if (driver === null && !driverTraces.some((path) => existsSync(path))) {
    return { missing: 'no device was found: there is no NVIDIA driver', isAbsent: true };
  }
  if (driver === null || device === undefined || !hasCudaLibrary()) return null;
  return { name: device.name, driver: driver.driverVersion, isSoftware: false };
}

function hasCudaLibrary(): boolean {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
    return existsSync(join(folder, `bin/napi-v6/${process.platform}/${process.arch}`, cudaLibrary));
  } catch {
    return false;
  }
}

async function findWebGpu(child: DeviceSearch): Promise<ProviderDevice | MissingDevice> {
  const known = interfaces[process.platform];
  if (known !== undefined) return { name: known, driver: release(), isSoftware: false };
  const probed = await askChild<ProbedDevices>({ vulkan: true }, child, (how) => ({
    missing: `a Vulkan driver ended the process that asked it (${how})`,
  }));
  return chooseDevice(probed);
}

/** Returns the device that the runtime would choose. */
export function chooseDevice(probed: ProbedDevices): ProviderDevice | MissingDevice {
  if ('missing' in probed) return { ...probed, missing: `no device was found: ${probed.missing}` };
  const [device] = probed.devices.toSorted(
    (one, other) => preference.indexOf(one.kind) - preference.indexOf(other.kind),
  );
  if (device === undefined) return { missing: 'no device was found: the Vulkan drivers offer none', isAbsent: true };
  return { name: device.name, driver: device.driver, isSoftware: device.kind === 'software' };
}

/**
 * Returns the providers of a list that nobody has chosen, without those that have nothing here to run on. A device that
 * computes on the processor is none, unless it may be used.
 */
export function withoutAbsent(
  providers: readonly string[],
  devices: ProviderDevices,
  { allowsSoftware }: { allowsSoftware: boolean },
): string[] {
  return providers.filter((provider) => {
    const device = devices.get(provider);
    if (device === undefined) return true;
    return 'missing' in device ? device.isAbsent !== true : !device.isSoftware || allowsSoftware;
  });
}

/** Asks in a child process. `crashed` tells what to say if that ends without an answer. */
function askChild<Answer>(
  request: ProbeRequest,
  { modulePath = probeModule, execArgv }: DeviceSearch,
  crashed: (how: string) => Answer,
): Promise<Answer> {
  return new Promise((resolve) => {
    const child = fork(modulePath, [JSON.stringify(request)], {
      env: environmentWithoutSecrets(),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: probeTimeoutMs,
      killSignal: 'SIGKILL',
      ...(execArgv !== undefined && { execArgv }),
    });
    child.once('message', (answer) => resolve(answer as Answer));
    child.once('error', (error) => resolve(crashed(error.message)));
    child.once('exit', (code, signal) => resolve(crashed(signal === null ? `exit code ${code}` : `signal ${signal}`)));
  });
}
