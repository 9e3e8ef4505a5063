/** How far the clocks of two hosts may be apart, and how long a message may be on its way, in ms. */
export const maxAgeMs = 15 * 60_000;

/** Numbers of a sender that are remembered below its highest: messages overtake each other on PostgreSQL. */
const rememberedNumbers = 1_024;

/** Processes with the same first model that are remembered; an attacker makes up more, and disturbs its own pool alone. */
const maxSenders = 1_000;

const pruneEveryMs = 60_000;

interface KnownSender {
  readonly owner: string;
  readonly numbers: Set<number>;
  highest: number;
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
    if (number <= known.highest - rememberedNumbers || known.numbers.has(number)) return 'replayed';
    known.numbers.add(number);
    known.forgetAtMs = Math.max(known.forgetAtMs, sentAtMs + maxAgeMs);
    if (number > known.highest) this.raise(known, number);
    return null;
  }

  private add(senderId: string, owner: string | null, nowMs: number): KnownSender | null {
    this.prune(nowMs);
    const name = owner ?? '';
    const count = this.counts.get(name) ?? 0;
    if (owner !== null && count >= maxSenders) return null;
    const sender = { owner: name, numbers: new Set<number>(), highest: 0, forgetAtMs: nowMs };
    this.senders.set(senderId, sender);
    this.counts.set(name, count + 1);
    return sender;
  }

  private raise(known: KnownSender, number: number): void {
    known.highest = number;
    if (known.numbers.size <= rememberedNumbers) return;
    for (const old of known.numbers) if (old <= number - rememberedNumbers) known.numbers.delete(old);
  }

  private prune(nowMs: number): void {
    if (nowMs - this.prunedAtMs < pruneEveryMs) return;
    this.prunedAtMs = nowMs;
    for (const [id, { owner, forgetAtMs }] of this.senders) {
      if (forgetAtMs >= nowMs) continue;
      this.senders.delete(id);
      this.counts.set(owner, (this.counts.get(owner) ?? 1) - 1);
    }
  }
}
