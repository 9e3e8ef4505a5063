import { type NvidiaDevice, type NvidiaDriver, readNvidiaDriver } from '#platform/devices';

/** The memory of the GPU that models run on: the first one, or the first slice of it where it is cut into instances. */
export interface GraphicsMemory {
  /** Null: there is none, or it does not tell. */
  totalBytes(): Promise<number | null>;
  /** What a process takes of it; null where that cannot be read. */
  usedBy(pid: number): Promise<number | null>;
}

/** How long an answer of the driver counts, in ms. */
const freshMs = 10_000;

/** How long it counts where it named no device, in ms: most machines without one stay so. */
const noneMs = 30_000;

/** As the driver's tool tells it. */
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
