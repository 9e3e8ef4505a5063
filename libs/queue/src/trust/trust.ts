import type { Clock } from '#common';
import type { MessageBus, MessageOrigin, VerifiedBus } from '../contract/message-bus.js';
import type { EnvelopeSeal, ScopedReplyLink, Seals } from '../contract/seals.js';
import type { Store, StoreOptions } from '../contract/store.js';
import type { TransportOptions } from '../contract/transport.js';
import { BusKeys } from './bus/bus-keys.js';
import { LimitedBus } from './bus/limited-bus.js';
import { type RefusalReason, SignedBus } from './bus/signed-bus.js';
import { QueueKeys } from './seal/queue-keys.js';
import { SealedEnvelopes } from './seal/sealed-envelope.js';
import { SealedReplyLink } from './seal/sealed-reply-link.js';

/** A warning for operators of pools. */
const withoutBusKey =
  'SLUICE_QUEUE_KEY has no key for messages of api and ops, and takes them from any worker: make these credentials again.';

/** Everything that a transport needs in order not to trust its store and the workers of pools: see README.md. */
export class Trust {
  readonly seals: Seals;
  readonly envelopes: EnvelopeSeal;
  readonly replyLink: ScopedReplyLink;
  /** The bus for messages that are sealed instead of signed. */
  readonly limitedBus: MessageBus;
  readonly bus: VerifiedBus;
  private readonly keys: QueueKeys;
  private readonly signedBus: SignedBus;

  constructor(
    store: Store,
    { sealKeys = [], namespace, warn }: Pick<TransportOptions, 'sealKeys'> & Pick<StoreOptions, 'namespace' | 'warn'>,
    clock: Clock,
  ) {
    this.keys = new QueueKeys(sealKeys);
    this.seals = this.keys;
    this.envelopes = new SealedEnvelopes(this.keys);
    this.replyLink = new SealedReplyLink(store.replyLink, this.keys);
    const keys = new BusKeys(sealKeys, clock);
    if (!keys.isEmpty && !keys.canVerifySignatures) warn(withoutBusKey);
    const limitedBus = new LimitedBus(store.bus, clock);
    this.limitedBus = limitedBus;
    const onRefused = (channel: string, origin: MessageOrigin) => limitedBus.noteRefusal(channel, origin);
    this.signedBus = new SignedBus(limitedBus, { keys, namespace, clock, warn, onRefused });
    this.bus = this.signedBus;
  }

  /** False when this process has keys, but none of this model. */
  hasKeyOf(modelId: string): boolean {
    return this.keys.models?.includes(modelId) !== false;
  }

  /** Counts the messages that were dropped, by reason. */
  get refusedMessages(): ReadonlyMap<RefusalReason, number> {
    return this.signedBus.refused;
  }
}
