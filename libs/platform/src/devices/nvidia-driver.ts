import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toolEnvironment } from '../config/index.js';

/** An instance of a partitioned GPU (MIG). */
export interface NvidiaSlice {
  index: number;
  totalBytes: number | null;
}

export interface NvidiaDevice {
  name: string;
  uuid: string;
  /** Memory of the whole device; null if not reported. */
  totalBytes: number | null;
  usedBytes: number | null;
  /** Empty when the device is not partitioned. */
  slices: NvidiaSlice[];
  /** Device memory by visible process. */
  usedByPid: ReadonlyMap<number, number>;
}

export interface NvidiaDriver {
  driverVersion: string;
  /** Newest CUDA version that the driver supports. */
  cudaVersion: string | null;
  devices: NvidiaDevice[];
}

const execute = promisify(execFile);
const timeoutMs = 10_000;
const bytesPerMebibyte = 2 ** 20;

/**
 * Runs `nvidia-smi`, which comes with the driver and which the container runtime adds to GPU containers. Returns null
 * without a driver or tool, or if the device hangs.
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

/** Parses the output of `nvidia-smi -q -x`; null if it names no driver. */
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

/** Returns the contents of elements by name. None of the queried elements is nested in itself. */
function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^]*?)</${name}>`, 'g'))].map(([, inner = '']) =>
    inner.trim(),
  );
}

function textOf(xml: string, name: string): string | null {
  const [text] = elements(xml, name);
  return text === undefined || text === 'N/A' || text === '' ? null : text;
}

/** Parses `20096 MiB`; `N/A` and `[Insufficient Permissions]` give null. */
function bytesOf(xml: string, name: string): number | null {
  const [, amount] = /^(\d+) MiB$/.exec(textOf(xml, name) ?? '') ?? [];
  return amount === undefined ? null : Number(amount) * bytesPerMebibyte;
}
