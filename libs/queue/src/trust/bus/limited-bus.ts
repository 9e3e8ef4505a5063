import type { Clock } from '#common';
import { verificationCost } from './signed-bus.js';
import {
  type DropListener,
  type MessageBus,
  type MessageListener,
  type MessageOrigin,
  unknownOrigin,
} from '../../contract/message-bus.js';

/** The longest message. A heartbeat with 1,000 models has some 200,000 characters. */
export const maxMessageCharacters = 1_024 * 1_024;

/**
 * How many messages all senders of one pool together may send each second on a channel, and at once. Long messages
 * count several times. The heartbeats of 300 workers with 300 models each count 5,400. Verifying as many takes a
 * process some 150 ms.
 */
const messagesPerSecond = 8_000;
const maxSaved = 8_000;
const charactersPerMessage = 4_096;

/** What a refused message counts in addition: honest workers send none. */
const refusalCost = 9;

/** The share of all senders that the store could not identify within a second (`postgres-bus.ts`). */
const unknownPerSecond = 1_000;

/** The most pairs of pool and channel that are remembered. The pair that was silent for longest is dropped first. */
const maxAllowances = 1_000;

interface Allowance {
  messages: number;
  atMs: number;
}

/**
 * The bus for messages that workers of pools may send. It drops messages that are too long, and messages beyond the
 * share of a pool, before anything reads them: whatever one pool sends, processes have time for the others. The
 * installation has no limit.
 */
export class LimitedBus implements MessageBus {
  private readonly allowances = new Map<string, Allowance>();
  private drop: DropListener = () => undefined;

  constructor(
    private readonly bus: MessageBus,
    private readonly clock: Clock,
  ) {
    bus.onDropped((...dropped) => this.drop(...dropped));
  }

  publish(channel: string, text: string): Promise<void> {
    return this.bus.publish(channel, text);
  }

  async subscribe(channel: string, listener: MessageListener): Promise<() => void> {
    return await this.bus.subscribe(channel, (text, origin) => {
      if (text.length > maxMessageCharacters) return this.drop(channel, 'too-large', origin);
      if (!this.admits(channel, origin, text)) return this.drop(channel, 'flood', origin);
      listener(text, origin);
    });
  }

  onDropped(listener: DropListener): void {
    this.drop = listener;
  }

  isConnected(): boolean {
    return this.bus.isConnected();
  }

  onReconnect(listener: () => void): () => void {
    return this.bus.onReconnect(listener);
  }

  /** Call for a message that was passed on and then refused: its pool may send less for a while. */
  noteRefusal(channel: string, origin: MessageOrigin): void {
    if (origin === null) return;
    const allowance = this.allowanceOf(channel, origin);
    allowance.messages = Math.max(0, allowance.messages - refusalCost);
  }

  private admits(channel: string, origin: MessageOrigin, text: string): boolean {
    if (origin === null) return true;
    const cost = verificationCost(text) + Math.floor(text.length / charactersPerMessage);
    const allowance = this.allowanceOf(channel, origin);
    if (cost > allowance.messages) return false;
    allowance.messages -= cost;
    return true;
  }

  private allowanceOf(channel: string, origin: string): Allowance {
    const name = `${channel} ${origin}`;
    const nowMs = this.clock.monotonicMs();
    const perSecond = origin === unknownOrigin ? unknownPerSecond : messagesPerSecond;
    const known = this.allowances.get(name) ?? { messages: maxSaved, atMs: nowMs };
    const gained = ((nowMs - known.atMs) / 1_000) * perSecond;
    const allowance = { messages: Math.min(maxSaved, known.messages + gained), atMs: nowMs };
    this.allowances.delete(name);
    this.allowances.set(name, allowance);
    const [oldest] = this.allowances.keys();
    if (this.allowances.size > maxAllowances && oldest !== undefined) this.allowances.delete(oldest);
    return allowance;
  }
}
