import { formatBytes } from '#model-store';
import type { Logger } from '#platform/logging';
import type { ServedModel } from '../served-model.js';
import type { MemoryReader } from './memory-reader.js';

/** A model host under guard. */
export interface GuardedHost {
  id: string;
  pid: number | null;
  state: 'loading' | 'idle' | 'busy';
  kill: (reason: string) => void;
}

interface HostSize {
  host: GuardedHost;
  bytes: number;
}

export interface HostMemoryGuardOptions {
  hosts: () => GuardedHost[];
  /** Memory of all hosts together, in bytes. */
  budgetBytes: () => number;
  reader: MemoryReader;
  logger: Logger;
  /** Pause between two checks, in ms; default 250. */
  everyMs?: number;
}

/** Below this share of available memory, other processes of the machine are slowed down or killed. */
const leastAvailable = 0.03;

/** A host that has grown by less is not the cause, whatever else uses the memory; requests may always take half of it. */
export const leastGrowthBytes = 256 * 2 ** 20;

/** The host of a served model. */
export function guardedHost({ id, host }: ServedModel): GuardedHost {
  const state = host.state !== 'ready' ? 'loading' : host.running === 0 ? 'idle' : 'busy';
  return { id, pid: host.pid, state, kill: (reason) => host.killForMemory(reason) };
}

/**
 * Keeps requests that need too much memory from harming others: when the hosts together exceed the budget, or the
 * machine has almost no memory left, the host that grew most is killed. It restarts, and only its requests suffer.
 */
export class HostMemoryGuard {
  private timer: NodeJS.Timeout | null = null;
  /** Memory of each host when it last had no request, by process id. */
  private idleBytes = new Map<number, number>();

  constructor(private readonly options: HostMemoryGuardOptions) {}

  start(): void {
    this.timer = setTimeout(() => {
      void this.check().finally(() => {
        if (this.timer !== null) this.start();
      });
    }, this.options.everyMs ?? 250);
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Kills one host at most; the next check finds what that freed. */
  async check(): Promise<void> {
    const { hosts, budgetBytes, reader, logger } = this.options;
    const sizes = await Promise.all(
      hosts().map(async (host) => {
        const bytes = host.pid === null ? null : await reader.privateBytes(host.pid);
        return { host, bytes: bytes ?? 0 };
      }),
    );
    this.remember(sizes);
    const totalBytes = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    const isOverBudget = totalBytes > budgetBytes();
    if (!isOverBudget && ((await reader.availableShare()) ?? 1) >= leastAvailable) return;
    const growth = ({ host, bytes }: HostSize) => bytes - (this.idleBytes.get(host.pid ?? -1) ?? bytes);
    const largest = sizes.toSorted((left, right) => growth(right) - growth(left))[0];
    if (largest === undefined || growth(largest) < leastGrowthBytes) return;
    const { host, bytes } = largest;
    const cause = isOverBudget ? `over the budget of ${formatBytes(budgetBytes())}` : 'and the machine has none left';
    logger.warn({ model: host.id, pid: host.pid, bytes, totalBytes }, `${host.id} takes too much memory`);
    host.kill(`it uses ${formatBytes(bytes)}, ${cause}`);
  }

  /** A host that is still loading has no idle size, so it is never blamed. */
  private remember(sizes: readonly HostSize[]): void {
    const next = new Map<number, number>();
    for (const { host, bytes } of sizes) {
      if (host.pid === null || host.state === 'loading') continue;
      const known = host.state === 'busy' ? this.idleBytes.get(host.pid) : undefined;
      next.set(host.pid, known ?? bytes);
    }
    this.idleBytes = next;
  }
}
