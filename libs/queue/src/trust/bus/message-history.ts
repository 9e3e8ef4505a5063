/** How far apart the clocks of two hosts may be, and how long a message may be in transit, in ms. */
export const maxAgeMs = 15 * 60_000;

/** How many numbers of a sender are remembered below its highest: messages overtake each other on PostgreSQL. */
const rememberedNumbers = 1_024;

/**
 * The most processes with the same first model that are remembered, restarted ones included. An attacker who makes up
 * more disturbs only its own pool.
 */
const maxSenders = 10_000;

const pruneEveryMs = 60_000;

interface KnownSender {
  readonly owner: string;
  readonly numbers: NumberWindow;
  /** The time from which its messages are too old. */
  forgetAtMs: number;
}

export interface StampedMessage {
  /** Unique among the senders with the keys of the same models. */
  readonly senderId: string;
  /** The pool whose limit on remembered senders applies. A trusted sender has none (null). */
  readonly owner: string | null;
  readonly number: number;
  readonly sentAtMs: number;
}

/** Remembers which messages were received, so that each counts once. Use it only for genuine messages. */
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
      // The time is later than any message could state: the clock was set back.
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
    else for (let missed = this.highest + 1; missed <= number; missed += 1) this.set(missed, false);
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
