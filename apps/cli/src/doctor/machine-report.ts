import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { PlatformError } from '#common';
import { availableProcessors } from '#platform/process';
import { mainMemoryBytes, neededLibraries, type NeededLibrary, readNvidiaDriver } from '#platform/devices';

export interface MachineReport {
  platform: string;
  node: string;
  cpu: string;
  cores: number;
  /** Memory limit in bytes: the container limit, or the physical memory. */
  memoryBytes: number;
  nvidia: GraphicsReport | null;
  tools: ToolReport[];
}

export interface GraphicsReport {
  driverVersion: string;
  cudaVersion: string | null;
  devices: { name: string; totalBytes: number | null; usedBytes: number | null; slices: (number | null)[] }[];
}

export interface ToolReport {
  name: string;
  /** Null: not installed. */
  version: string | null;
}

export interface RuntimeReport {
  version: string;
  /** Null on other platforms: the CUDA libraries exist for linux-x64 only. */
  cuda: CudaReport | null;
}

export interface CudaReport {
  /** Whether the CUDA library of the runtime is installed. */
  installed: boolean;
  /** Libraries that it needs; null when it is not installed or `ldd` is unavailable. */
  libraries: NeededLibrary[] | null;
}

const require = createRequire(import.meta.url);

export async function reportMachine(tools: ToolReport[]): Promise<MachineReport> {
  const driver = await readNvidiaDriver();
  return {
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableProcessors(),
    memoryBytes: mainMemoryBytes(),
    nvidia: driver && {
      driverVersion: driver.driverVersion,
      cudaVersion: driver.cudaVersion,
      devices: driver.devices.map(({ name, totalBytes, usedBytes, slices }) => {
        return { name, totalBytes, usedBytes, slices: slices.map((slice) => slice.totalBytes) };
      }),
    },
    tools,
  };
}

/** Returns the installed inference runtime. Rejects with `SERVICE_UNAVAILABLE` if there is none. */
export async function reportRuntime(): Promise<RuntimeReport> {
  const folder = runtimeFolder();
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const library = join(folder, `bin/napi-v6/${process.platform}/${process.arch}`, 'libonnxruntime_providers_cuda.so');
  if (process.platform !== 'linux' || process.arch !== 'x64') return { version, cuda: null };
  const installed = existsSync(library);
  return { version, cuda: { installed, libraries: installed ? await neededLibraries(library) : null } };
}

function runtimeFolder(): string {
  try {
    return dirname(require.resolve('onnxruntime-node/package.json'));
  } catch {
    const message = 'The inference runtime is not installed, as in the API image: run this where a worker runs.';
    throw new PlatformError('SERVICE_UNAVAILABLE', message);
  }
}
