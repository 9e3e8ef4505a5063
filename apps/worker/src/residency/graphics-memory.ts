import { type NvidiaDevice, type NvidiaDriver, readNvidiaDriver } from '#platform/devices';

/** Memory of the GPU that models run on: the first one, or its first slice if it is partitioned. */
export interface GraphicsMemory {
  /** Null when there is none, or the driver does not report it. */
  totalBytes(): Promise<number | null>;
  /** Memory used by a process, in bytes; null if unknown. */
  usedBy(pid: number): Promise<number | null>;
}

/** How long a driver response is cached, in ms. */
const freshMs = 10_000;

/** How long a response without a device is cached, in ms: most such machines never get one. */
const noneMs = 30_000;

/** As reported by `nvidia-smi`. */
export class NvidiaGraphicsMemory implements GraphicsMemory {
  private reading: { untilMs: number; driver: Promise<NvidiaDriver | null> } | null = null;

  constructor(private readonly read: () => Promise<NvidiaDriver | null> = readNvidiaDriver) {}

  async totalBytes(): Promise<number | null> {
    const device = await this.device();
    if (device === null) return null;
    const [slice] = device.slices;
    return slice === undefined ? device.totalBytes : slice.totalBytes;
  }

  async usedBy(pid: number): Promise<number | null> {
    return (await this.device())?.usedByPid.get(pid) ?? null;
  }

  private async device(): Promise<NvidiaDevice | null> {
    const nowMs = performance.now();
    if (this.reading === null || nowMs > this.reading.untilMs) {
      this.reading = { untilMs: nowMs + freshMs, driver: this.read() };
    }
    const { reading } = this;
    const device = (await reading.driver)?.devices[0] ?? null;
    if (device === null) reading.untilMs = nowMs + noneMs;
    return device;
  }
}
