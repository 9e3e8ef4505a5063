import type { GraphicsMemory } from '../../apps/worker/src/residency/graphics-memory.js';
import type { LoadedHost, MachineMemory } from '../../apps/worker/src/residency/machine-memory.js';
import type { InstalledModel } from '../../apps/worker/src/models-folder.js';
import type { DeviceBytes } from '../../apps/worker/src/residency/residency-plan.js';

/** A fake machine whose memory usage the test defines. */
export class FakeMachineMemory implements MachineMemory {
  /** Bytes by model id; other models use none. */
  readonly sizes = new Map<string, number>();

  constructor(public cpuBytes: number) {}

  budgets(): Promise<DeviceBytes> {
    return Promise.resolve({ cpu: this.cpuBytes });
  }

  estimate({ manifest }: InstalledModel): Promise<DeviceBytes> {
    return Promise.resolve({ cpu: this.sizes.get(manifest.id) ?? 0 });
  }

  measure(_host: LoadedHost): Promise<DeviceBytes | null> {
    return Promise.resolve(null);
  }
}

/** A fake GPU; null bytes: there is none. */
export class FakeGraphicsMemory implements GraphicsMemory {
  /** By process id. */
  readonly used = new Map<number, number>();

  constructor(private readonly bytes: number | null) {}

  totalBytes(): Promise<number | null> {
    return Promise.resolve(this.bytes);
  }

  usedBy(pid: number): Promise<number | null> {
    return Promise.resolve(this.used.get(pid) ?? null);
  }
}
