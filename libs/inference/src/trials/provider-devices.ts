import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { release } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentWithoutSecrets } from '#platform/config';
import { readNvidiaDriver } from '#platform/devices';
import type { VulkanDevice } from '../runtime/devices/vulkan-devices.js';

/** The device on which a provider would run models. */
export interface ProviderDevice {
  name: string;
  driver: string;
  /** Computes on the processor, as SwiftShader and llvmpipe do. */
  isSoftware: boolean;
}

/** By provider: its device, or why there is none. Providers that are not among them tell when they are loaded. */
export type ProviderDevices = ReadonlyMap<string, ProviderDevice | { missing: string }>;

/** What the child process says. */
export type ProbedDevices = { devices: VulkanDevice[] } | { missing: string };

const probeModule = fileURLToPath(new URL('./device-probe.child.js', import.meta.url));
/** The part of the runtime that npm does not install by itself. */
const cudaLibrary = 'libonnxruntime_providers_cuda.so';
const probeTimeoutMs = 15_000;

/** The order in which the runtime prefers adapters. */
const preference: readonly VulkanDevice['kind'][] = ['discrete', 'integrated', 'virtual', 'other', 'software'];

/** Graphics interfaces of other systems than Linux. Their adapter is not read, so what it is shows in the trial. */
const interfaces: Partial<Record<NodeJS.Platform, string>> = { darwin: 'Metal', win32: 'Direct3D 12' };

/** Finds the devices of providers without loading the runtime. Takes a fraction of a second. */
export async function findProviderDevices(
  providers: readonly string[],
  { modulePath = probeModule, execArgv }: { modulePath?: string; execArgv?: string[] } = {},
): Promise<ProviderDevices> {
  const [webgpu, cuda] = await Promise.all([
    providers.includes('webgpu') ? findWebGpu(() => probeVulkan(modulePath, execArgv)) : null,
    providers.includes('cuda') ? findCuda() : null,
  ]);
  return new Map(
    Object.entries({ webgpu, cuda }).flatMap(([name, device]) => (device === null ? [] : [[name, device] as const])),
  );
}

/** Null where the libraries are missing or the driver names no device, which is said when a model is loaded. */
async function findCuda(): Promise<ProviderDevice | null> {
  if (!hasCudaLibrary()) return null;
  const driver = await readNvidiaDriver();
  const [device] = driver?.devices ?? [];
  return driver === null || device === undefined
    ? null
    : { name: device.name, driver: driver.driverVersion, isSoftware: false };
}

function hasCudaLibrary(): boolean {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
    return existsSync(join(folder, `bin/napi-v6/${process.platform}/${process.arch}`, cudaLibrary));
  } catch {
    return false;
  }
}

async function findWebGpu(probe: () => Promise<ProbedDevices>): Promise<ProviderDevice | { missing: string }> {
  const known = interfaces[process.platform];
  if (known !== undefined) return { name: known, driver: release(), isSoftware: false };
  return chooseDevice(await probe());
}

/** Returns the device that the runtime would choose. */
export function chooseDevice(probed: ProbedDevices): ProviderDevice | { missing: string } {
  if ('missing' in probed) return { missing: `no device was found: ${probed.missing}` };
  const [device] = probed.devices.toSorted(
    (one, other) => preference.indexOf(one.kind) - preference.indexOf(other.kind),
  );
  if (device === undefined) return { missing: 'no device was found: the Vulkan drivers offer none' };
  return { name: device.name, driver: device.driver, isSoftware: device.kind === 'software' };
}

/** Asks the Vulkan drivers in a child process. */
function probeVulkan(modulePath: string, execArgv: string[] | undefined): Promise<ProbedDevices> {
  return new Promise((resolve) => {
    const child = fork(modulePath, [], {
      env: environmentWithoutSecrets(),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: probeTimeoutMs,
      killSignal: 'SIGKILL',
      ...(execArgv !== undefined && { execArgv }),
    });
    child.once('message', (probed) => resolve(probed as ProbedDevices));
    child.once('error', (error) => resolve({ missing: error.message }));
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      resolve({ missing: `a Vulkan driver ended the process that asked it (${how})` });
    });
  });
}
