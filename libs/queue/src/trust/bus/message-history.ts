/** How far the clocks of two hosts may be apart, and how long a message may be on its way, in ms. */
export const maxAgeMs = 15 * 60_000;

/** Numbers of a sender that are remembered below its highest: messages overtake each other on PostgreSQL. */
const rememberedNumbers = 1_024;

/**
 * Processes with the same first model that are remembered, those that were restarted included; an attacker makes up more, and
 * disturbs its own pool alone.
 */
const maxSenders = 10_000;

const pruneEveryMs = 60_000;

interface KnownSender {
  readonly owner: string;
  readonly numbers: NumberWindow;
  /** Its messages are too old from then on. */
  forgetAtMs: number;
}

export interface StampedMessage {
  /** Unique among those with the keys of the same models. */
  readonly senderId: string;
  /** Limits on what is remembered are for one owner; null: trusted, no limit. */
  readonly owner: string | null;
  readonly number: number;
  readonly sentAtMs: number;
}

/** Remembers which messages were received, so that each counts once. Call it for genuine messages only. */
export class MessageHistory {
  private readonly senders = new Map<string, KnownSender>();
  private readonly counts = new Map<string, number>();
  private prunedAtMs = -Infinity;

  /** Returns why the message does not count, or null if it does. */
  refusalOf(
    { senderId, owner, number, sentAtMs }: StampedMessage,
    nowMs: number,
  ): 'stale' | 'replayed' | 'crowded' | null {
    if (Math.abs(nowMs - sentAtMs) > maxAgeMs) return 'stale';
    const known = this.senders.get(senderId) ?? this.add(senderId, owner, nowMs);
    if (known === null) return 'crowded';
    if (!known.numbers.add(number)) return 'replayed';
    known.forgetAtMs = Math.max(known.forgetAtMs, sentAtMs + maxAgeMs);
    return null;
  }

  private add(senderId: string, owner: string | null, nowMs: number): KnownSender | null {
    this.prune(nowMs);
    const name = owner ?? '';
    const count = this.counts.get(name) ?? 0;
    if (owner !== null && count >= maxSenders) return null;
    const sender = { owner: name, numbers: new NumberWindow(), forgetAtMs: nowMs };
    this.senders.set(senderId, sender);
    this.counts.set(name, count + 1);
    return sender;
  }

  private prune(nowMs: number): void {
    if (Math.abs(nowMs - this.prunedAtMs) < pruneEveryMs) return;
    this.prunedAtMs = nowMs;
    for (const [id, { owner, forgetAtMs }] of this.senders) {
      // Later than any message could say: the clock was set back.
      if (forgetAtMs >= nowMs && forgetAtMs <= nowMs + 2 * maxAgeMs) continue;
      this.senders.delete(id);
      this.counts.set(owner, (this.counts.get(owner) ?? 1) - 1);
    }
  }
}

/** The highest number of a sender, and which of those shortly below were received: one bit each. */
class NumberWindow {
  private readonly bits = new Uint32Array(rememberedNumbers / 32);
  private highest = 0;

  /** False when the number was added before, or is too low to tell. */
  add(number: number): boolean {
    if (number <= this.highest - rememberedNumbers) return false;
    // Bits are used again for numbers that are higher by a whole window.
    if (number >= this.highest + rememberedNumbers) this.bits.fill(0);
    else for (let each = this.highest + 1; each <= number; each += 1) this.set(each, false);
    this.highest = Math.max(this.highest, number);
    if (this.has(number)) return false;
    this.set(number, true);
    return true;
  }

  private has(number: number): boolean {
    const bit = number % rememberedNumbers;
    return (((this.bits[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1;
  }

  private set(number: number, value: boolean): void {
    const bit = number % rememberedNumbers;
    const mask = 1 << (bit & 31);
    const word = this.bits[bit >>> 5] ?? 0;
    this.bits[bit >>> 5] = value ? word | mask : word & ~mask;
  }
}
