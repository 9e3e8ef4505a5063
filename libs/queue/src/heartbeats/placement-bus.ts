import type { Clock } from '#common';
import type { DesiredPlacements, Placement, PlacementBus, PlacementListeners } from '../contract/desired-placements.js';
import type { BusSender, VerifiedBus } from '../contract/message-bus.js';

const channel = 'placement';

/** Interval between two reported misses of one model, in ms. */
const missEveryMs = 1_000;

/** Pause before a request that could not be sent is sent again, in ms. */
const askAgainMs = 500;

/** How many models' last misses are remembered; the oldest are dropped first. */
const rememberedModels = 1_000;

type Message = { type: 'desired'; desired: DesiredPlacements } | { type: 'ask' } | { type: 'miss'; modelId: string };

/** Placements, requests for them and misses over the store's bus. */
export class BusPlacements implements PlacementBus {
  private readonly listeners = new Set<PlacementListeners>();
  private readonly unservedAtMs = new Map<string, number>();
  private readonly stops: (() => void)[] = [];
  private hasAsked = false;
  private askingAgain: NodeJS.Timeout | null = null;
  private isClosed = false;

  constructor(
    private readonly bus: VerifiedBus,
    private readonly clock: Clock,
  ) {}

  async start(): Promise<void> {
    this.stops.push(await this.bus.subscribe(channel, (text, sender) => this.receive(text, sender)));
    this.stops.push(this.bus.onReconnect(() => this.hasAsked && this.ask()));
  }

  async announce(desired: DesiredPlacements): Promise<void> {
    await this.publish({ type: 'desired', desired });
  }

  ask(): void {
    this.hasAsked = true;
    // The receiving connection may be back before the sending one.
    this.publish({ type: 'ask' }).catch(() => this.askLater());
  }

  private askLater(): void {
    if (this.askingAgain !== null || this.isClosed) return;
    this.askingAgain = setTimeout(() => {
      this.askingAgain = null;
      this.ask();
    }, askAgainMs);
    this.askingAgain.unref();
  }

  reportUnserved(modelId: string): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - (this.unservedAtMs.get(modelId) ?? -Infinity) < missEveryMs) return;
    this.unservedAtMs.delete(modelId);
    this.unservedAtMs.set(modelId, nowMs);
    if (this.unservedAtMs.size > rememberedModels)
      this.unservedAtMs.delete(this.unservedAtMs.keys().next().value ?? '');
    // A lost miss is harmless: the caller was told to retry, and is counted then.
    this.publish({ type: 'miss', modelId }).catch(() => undefined);
  }

  subscribe(listeners: PlacementListeners): () => void {
    this.listeners.add(listeners);
    return () => this.listeners.delete(listeners);
  }

  close(): void {
    this.isClosed = true;
    for (const stop of this.stops.splice(0)) stop();
    this.listeners.clear();
    if (this.askingAgain !== null) clearTimeout(this.askingAgain);
  }

  private async publish(message: Message): Promise<void> {
    await this.bus.publish(channel, JSON.stringify(message));
  }

  private receive(text: string, sender: BusSender): void {
    const message = readMessage(text);
    if (message === null) return;
    // Workers of pools may only ask.
    if (message.type !== 'ask' && sender.models !== null) return this.bus.refuse(channel, sender);
    for (const { onDesired, onAsk, onUnserved } of this.listeners) {
      if (message.type === 'desired') onDesired?.(message.desired);
      else if (message.type === 'ask') onAsk?.();
      else onUnserved?.(message.modelId);
    }
  }
}

/** Returns null for a text that no process of Sluice sends. */
function readMessage(text: string): Message | null {
  const message = JSON.parse(text) as (Partial<Record<'type' | 'modelId', unknown>> & { desired?: unknown }) | null;
  if (message?.type === 'ask') return { type: 'ask' };
  if (message?.type === 'miss') return typeof message.modelId === 'string' ? (message as Message) : null;
  return message?.type === 'desired' && isDesired(message.desired) ? (message as Message) : null;
}

function isDesired(value: unknown): value is DesiredPlacements {
  const { revision, placements } = (value ?? {}) as Partial<DesiredPlacements>;
  return Number.isSafeInteger(revision) && Array.isArray(placements) && placements.every(isPlacement);
}

function isPlacement(value: unknown): boolean {
  const { modelId, pool, pinned, replicas } = (value ?? {}) as Partial<Placement>;
  return (
    typeof modelId === 'string' &&
    typeof pool === 'string' &&
    typeof pinned === 'boolean' &&
    (replicas === null || Number.isSafeInteger(replicas))
  );
}
