import { randomBytes } from 'node:crypto';
import type { Clock } from '#common';
import { type MessageBus, type MessageOrigin, unknownOrigin } from '../backends/store.js';
import type { BusKeys } from './bus-keys.js';
import { MessageHistory } from './message-history.js';

const prefix = 's1 ';

/** Of messages whose signature is one of the installation: the header names no models. */
const installationPrefix = `${prefix}[null,`;

/** Interval within which one kind of refusal is logged once, in ms. */
const warnEveryMs = 60_000;

export const refusalReasons = [
  'unsigned',
  'forged',
  'stale',
  'replayed',
  'crowded',
  'outside-scope',
  'too-large',
  'flood',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Who sent a message. */
export interface BusSender {
  /** Unique for each process; null: nothing is verified here. */
  readonly id: string | null;
  /** The models for which it may speak; null: for the installation. */
  readonly models: readonly string[] | null;
  readonly isSelf: boolean;
  readonly origin: MessageOrigin;
}

/** The bus without signatures: keys are missing, here or everywhere. */
const unverified = { id: null, models: null, isSelf: false } as const;

interface ReadMessage {
  text: string;
  sender: BusSender;
}

/** Header of a message, as JSON: models, sender, number, time, proof. The text follows in the next line. */
type Header = [models: readonly string[] | null, sender: string, number: number, sentAtMs: number, proof: string];

/**
 * The bus of processes that do not all trust each other. Every message is signed, for one channel, and counts once. Without
 * keys, messages are sent and taken as they are.
 */
export class SignedBus {
  private readonly id = randomBytes(9).toString('base64url');
  private readonly history = new MessageHistory();
  private readonly counts = new Map<RefusalReason, number>(refusalReasons.map((reason) => [reason, 0]));
  private readonly warnedAtMs = new Map<string, number>();
  private sent = 0;

  constructor(
    private readonly bus: MessageBus,
    private readonly options: {
      readonly keys: BusKeys;
      /** Of the installation: a message of another one is no message here. */
      readonly namespace: string;
      readonly clock: Clock;
      readonly warn: (message: string) => void;
      /** Called for each message that is refused. */
      readonly onRefused?: (channel: string, origin: MessageOrigin) => void;
    },
  ) {
    bus.onDropped((channel, reason, origin) => void this.count(channel, reason, { models: null, origin }));
  }

  /** Messages that were dropped, by reason. */
  get refused(): ReadonlyMap<RefusalReason, number> {
    return this.counts;
  }

  /** The models for which this process may speak; null: for all. */
  get models(): readonly string[] | null {
    return this.options.keys.models;
  }

  async publish(channel: string, text: string): Promise<void> {
    await this.bus.publish(channel, this.options.keys.isEmpty ? text : this.sign(channel, text));
  }

  /** Takes one listener for each channel: a message counts once. */
  async subscribe(channel: string, listener: (text: string, sender: BusSender) => void): Promise<() => void> {
    return await this.bus.subscribe(channel, (message, origin) => {
      const read = this.read(channel, message, origin);
      if (read !== null) listener(read.text, read.sender);
    });
  }

  isConnected(): boolean {
    return this.bus.isConnected();
  }

  onReconnect(listener: () => void): () => void {
    return this.bus.onReconnect(listener);
  }

  /** Counts a message that was dropped because its sender may not send it. */
  refuse(channel: string, sender: BusSender): void {
    this.count(channel, 'outside-scope', sender);
  }

  private sign(channel: string, text: string): string {
    const { keys, clock } = this.options;
    this.sent += 1;
    const stamp = [keys.models, this.id, this.sent, clock.nowMs()] as const;
    const header: Header = [...stamp, keys.sign(this.bytesOf(channel, stamp, text))];
    return `${prefix}${JSON.stringify(header)}\n${text}`;
  }

  private read(channel: string, message: string, origin: MessageOrigin): ReadMessage | null {
    const { keys } = this.options;
    const end = message.startsWith(prefix) ? message.indexOf('\n') : -1;
    if (keys.isEmpty || !keys.canVerifySignatures)
      return { text: message.slice(end + 1), sender: { ...unverified, origin } };
    const header = end < 0 ? null : readHeader(message.slice(prefix.length, end));
    if (header === null) return this.count(channel, 'unsigned', { models: null, origin });
    return this.verify(channel, header, { text: message.slice(end + 1), origin });
  }

  private verify(
    channel: string,
    header: Header,
    { text, origin }: { text: string; origin: MessageOrigin },
  ): ReadMessage | null {
    const { keys, clock } = this.options;
    const [models, senderId, number, sentAtMs, proof] = header;
    const verification = keys.verify(models, this.bytesOf(channel, [models, senderId, number, sentAtMs], text), proof);
    // Workers of other pools are no concern of this one.
    if (verification === 'foreign') return null;
    if (verification === 'forged') return this.count(channel, 'forged', { models: null, origin });
    const id = `${senderId} ${models === null ? '' : JSON.stringify(models)}`;
    const owner = models?.[0] ?? null;
    const refusal = this.history.refusalOf({ senderId: id, owner, number, sentAtMs }, clock.nowMs());
    if (refusal !== null) return this.count(channel, refusal, { models, origin });
    const isSelf = senderId === this.id && isSame(models, keys.models);
    return { text, sender: { id, models, isSelf, origin } };
  }

  private bytesOf(channel: string, stamp: readonly unknown[], text: string): Buffer {
    return Buffer.from(JSON.stringify([this.options.namespace, channel, ...stamp, text]));
  }

  private count(
    channel: string,
    reason: RefusalReason,
    { models, origin }: Pick<BusSender, 'models' | 'origin'>,
  ): null {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    if (reason !== 'flood') this.options.onRefused?.(channel, origin);
    const nowMs = this.options.clock.monotonicMs();
    const name = `${channel} ${reason}`;
    if (nowMs - (this.warnedAtMs.get(name) ?? -Infinity) < warnEveryMs) return null;
    this.warnedAtMs.set(name, nowMs);
    const pool = origin === null || origin === unknownOrigin ? '' : `, from the pool ${origin}`;
    const keys = models === null ? '' : `, from a process with the keys of ${models.join(', ').slice(0, 200)}`;
    this.options.warn(
      `A message on the bus was refused (${channel}, ${reason}${pool}${keys}): see docs/operate/security.md.`,
    );
    return null;
  }
}

/** How long a message may take to verify, in multiples of one of a worker of a pool. */
export function verificationCost(message: string): number {
  return message.startsWith(installationPrefix) ? 5 : 1;
}

/** Returns null for what no process of ours sends. */
function readHeader(json: string): Header | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  if (!Array.isArray(value) || value.length !== 5) return null;
  const [models, sender, number, sentAtMs, proof] = value as unknown[];
  const isHeader =
    (models === null || (Array.isArray(models) && models.every((id) => typeof id === 'string'))) &&
    typeof sender === 'string' &&
    sender.length <= 40 &&
    Number.isSafeInteger(number) &&
    (number as number) > 0 &&
    Number.isFinite(sentAtMs) &&
    typeof proof === 'string';
  return isHeader ? (value as Header) : null;
}

function isSame(one: readonly string[] | null, other: readonly string[] | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
