import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '../config/index.js';

/** A part of a GPU that is cut into instances (MIG). */
export interface NvidiaSlice {
  index: number;
  totalBytes: number | null;
}

export interface NvidiaDevice {
  name: string;
  uuid: string;
  /** Of the whole device; null where it does not tell. */
  totalBytes: number | null;
  usedBytes: number | null;
  /** Empty where the device is not cut. */
  slices: NvidiaSlice[];
  /** Device memory by process, of those that this process may see. */
  usedByPid: ReadonlyMap<number, number>;
}

export interface NvidiaDriver {
  driverVersion: string;
  /** Newest version of CUDA that the driver serves. */
  cudaVersion: string | null;
  devices: NvidiaDevice[];
}

const execute = promisify(execFile);
const timeoutMs = 10_000;
const bytesPerMebibyte = 2 ** 20;

/**
 * Asks `nvidia-smi`, which comes with the driver and which the container runtime puts into a container with a GPU. Null
 * where there is no driver, no tool, or a device that hangs.
 */
export async function readNvidiaDriver(): Promise<NvidiaDriver | null> {
  try {
    const options = { env: toolEnvironment(), timeout: timeoutMs, maxBuffer: 16 * bytesPerMebibyte };
    const { stdout } = await execute('nvidia-smi', ['-q', '-x'], options);
    return parseNvidiaDriver(stdout);
  } catch {
    return null;
  }
}

/** Reads what `nvidia-smi -q -x` prints; null where it names no driver. */
export function parseNvidiaDriver(xml: string): NvidiaDriver | null {
  const driverVersion = textOf(xml, 'driver_version');
  if (driverVersion === null) return null;
  return { driverVersion, cudaVersion: textOf(xml, 'cuda_version'), devices: elements(xml, 'gpu').map(deviceOf) };
}

function deviceOf(gpu: string): NvidiaDevice {
  const isCut = textOf(gpu, 'current_mig') === 'Enabled';
  const [memory = ''] = elements(gpu.replace(/<mig_devices>[^]*<\/mig_devices>/, ''), 'fb_memory_usage');
  return {
    name: textOf(gpu, 'product_name') ?? 'unknown',
    uuid: textOf(gpu, 'uuid') ?? '',
    totalBytes: bytesOf(memory, 'total'),
    usedBytes: bytesOf(memory, 'used'),
    slices: isCut ? elements(gpu, 'mig_device').map(sliceOf) : [],
    usedByPid: usedByPid(gpu),
  };
}

function sliceOf(slice: string): NvidiaSlice {
  const [memory = ''] = elements(slice, 'fb_memory_usage');
  return { index: Number(textOf(slice, 'index') ?? 0), totalBytes: bytesOf(memory, 'total') };
}

function usedByPid(gpu: string): Map<number, number> {
  const used = new Map<number, number>();
  for (const info of elements(gpu, 'process_info')) {
    const [pid, bytes] = [Number(textOf(info, 'pid') ?? NaN), bytesOf(info, 'used_memory')];
    if (Number.isInteger(pid) && bytes !== null) used.set(pid, (used.get(pid) ?? 0) + bytes);
  }
  return used;
}

/** What stands in the elements of a name; none of those asked for holds another of its name. */
function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^]*?)</${name}>`, 'g'))].map(([, inner = '']) =>
    inner.trim(),
  );
}

function textOf(xml: string, name: string): string | null {
  const [text] = elements(xml, name);
  return text === undefined || text === 'N/A' || text === '' ? null : text;
}

/** `20096 MiB`; `N/A` and `[Insufficient Permissions]` are null. */
function bytesOf(xml: string, name: string): number | null {
  const [, amount] = /^(\d+) MiB$/.exec(textOf(xml, name) ?? '') ?? [];
  return amount === undefined ? null : Number(amount) * bytesPerMebibyte;
}
