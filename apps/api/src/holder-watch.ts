import type { PresenceBeat, PresenceBus } from '#queue';

interface Watch {
  modelId: string;
  controller: AbortController;
}

/** How long a model may be held by nobody before its running answers are given up, in ms. */
const confirmMs = 2_000;

/**
 * Tells when no live process holds a model any more: whoever runs an answer of it is dead, and would be silent until
 * the deadline.
 */
export class HolderWatch {
  private readonly watches = new Set<Watch>();
  private timer: NodeJS.Timeout | undefined;
  private readonly stop: () => void;

  constructor(private readonly presence: PresenceBus) {
    this.stop = presence.onChange((beats) => this.look(beats));
  }

  /** A signal that aborts when nobody has held the model for 2 s, and the end of watching it. */
  watch(modelId: string): { lost: AbortSignal; release: () => void } {
    const entry = { modelId, controller: new AbortController() };
    this.watches.add(entry);
    // The last holder may have gone just before: then no change is left to hear of.
    this.look(this.presence.list());
    return { lost: entry.controller.signal, release: () => void this.watches.delete(entry) };
  }

  close(): void {
    clearTimeout(this.timer);
    this.stop();
  }

  private look(beats: PresenceBeat[]): void {
    if (this.timer !== undefined || !this.orphans(beats).length) return;
    // A worker that restarts its heartbeat is not gone; the second look decides.
    this.timer = setTimeout(() => {
      this.timer = undefined;
      for (const entry of this.orphans(this.presence.list())) entry.controller.abort();
    }, confirmMs);
  }

  private orphans(beats: PresenceBeat[]): Watch[] {
    const held = new Set(beats.flatMap(({ models }) => models.map(({ modelId }) => modelId)));
    return [...this.watches].filter(({ modelId }) => !held.has(modelId));
  }
}
