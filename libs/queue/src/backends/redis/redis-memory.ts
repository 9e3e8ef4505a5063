/** What of `INFO` says how full a server is. */
export interface MemoryReading {
  usedMemoryBytes: number;
  /** 0 without a limit. */
  maxMemoryBytes: number;
}

/**
 * From this part of maxmemory on no new work is taken: the rest is for what runs, whose locks, deltas and outcomes the
 * server would refuse as well.
 */
const fullFrom = 0.9;

/** Below this part work is taken again; between the two nothing changes, so that no replica goes back and forth. */
const roomAgainFrom = 0.85;

/** Whether a Redis with a limit of memory has room for new work. */
export class RedisMemory {
  private reading: MemoryReading = { usedMemoryBytes: 0, maxMemoryBytes: 0 };
  private full = false;

  note(reading: MemoryReading): void {
    this.reading = reading;
    this.full = this.share >= (this.full ? roomAgainFrom : fullFrom);
  }

  /** Used part of maxmemory; 0 without a limit. */
  get share(): number {
    const { usedMemoryBytes, maxMemoryBytes } = this.reading;
    return maxMemoryBytes > 0 ? usedMemoryBytes / maxMemoryBytes : 0;
  }

  /** Why no new work is taken, in words for operators; null while there is room. */
  problem(): string | null {
    if (!this.full) return null;
    const percent = Math.floor(this.share * 100);
    return (
      `Redis uses ${percent} % of its maxmemory; new work is taken again below ${roomAgainFrom * 100} %. ` +
      'Give it more memory, or find what fills it.'
    );
  }
}
