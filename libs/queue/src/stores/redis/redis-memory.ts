import type { StoreMemory } from '../../contract/store.js';

/** The fields of `INFO` about memory usage. */
export interface MemoryReading {
  usedMemoryBytes: number;
  /** 0 without a limit. */
  maxMemoryBytes: number;
}

/**
 * The fraction of maxmemory from which no new work is accepted. The rest is for running jobs, whose locks, deltas and
 * results the server would otherwise refuse as well.
 */
const fullFrom = 0.9;

/** The fraction below which work is accepted again. Between the two nothing changes, which prevents flapping. */
const roomAgainFrom = 0.85;

/** Decides whether a Redis with a memory limit has capacity for new work. */
export class RedisMemory {
  private reading: MemoryReading = { usedMemoryBytes: 0, maxMemoryBytes: 0 };
  private full = false;

  note(reading: MemoryReading): void {
    this.reading = reading;
    this.full = this.share >= (this.full ? roomAgainFrom : fullFrom);
  }

  /** Null without a limit. */
  get limited(): StoreMemory | null {
    const { usedMemoryBytes: usedBytes, maxMemoryBytes: limitBytes } = this.reading;
    return limitBytes > 0 ? { usedBytes, limitBytes } : null;
  }

  /** Used fraction of maxmemory; 0 without a limit. */
  get share(): number {
    const { usedMemoryBytes, maxMemoryBytes } = this.reading;
    return maxMemoryBytes > 0 ? usedMemoryBytes / maxMemoryBytes : 0;
  }

  /** Returns why no new work is accepted, in words for operators; null while there is capacity. */
  problem(): string | null {
    if (!this.full) return null;
    const percent = Math.floor(this.share * 100);
    return (
      `Redis uses ${percent} % of its maxmemory; new work is taken again below ${roomAgainFrom * 100} %. ` +
      'Give it more memory, or find what fills it.'
    );
  }
}
