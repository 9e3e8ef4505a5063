/** A body that is older is given to no one, in ms. */
const maxAgeMs = 10_000;
const maxBodies = 200;
/** Larger bodies are built for each client, in characters. */
const maxLength = 512 * 1024;

/** The body of a response that others may get as well. */
export interface SharedBody {
  text: string;
  /** The time at which its request arrived, on the monotonic clock. */
  sinceMs: number;
}

/** Bodies of responses by what they show and who may see it, for clients that accept one of some age. */
export class SharedResponses {
  private readonly bodies = new Map<string, SharedBody>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Returns a body that is younger than `acceptedMs`, or null. */
  find(id: string, acceptedMs: number): SharedBody | null {
    const known = this.bodies.get(id);
    return known !== undefined && this.nowMs() - known.sinceMs < Math.min(acceptedMs, maxAgeMs) ? known : null;
  }

  /** Keeps a body for clients that accept its age. One for a client that accepts none only replaces an older one. */
  keep(id: string, acceptedMs: number, body: SharedBody): void {
    const known = this.bodies.get(id);
    if (known === undefined ? acceptedMs === 0 : known.sinceMs > body.sinceMs) return;
    this.bodies.delete(id);
    if (body.text.length <= maxLength) this.bodies.set(id, body);
    const nowMs = this.nowMs();
    // A map iterates in insertion order: the first are the oldest.
    for (const [oldest, { sinceMs }] of this.bodies) {
      if (this.bodies.size <= maxBodies && nowMs - sinceMs < maxAgeMs) return;
      this.bodies.delete(oldest);
    }
  }
}
