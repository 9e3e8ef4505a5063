import { randomBytes } from 'node:crypto';
import { PlatformError } from '#common';
import { decodeFrame } from './mailbox-frame.js';
import { MailboxOutbox } from './mailbox-outbox.js';
import { BufferedSlot } from './mailbox-slot.js';
import type { MailboxLink } from './store.js';
import type { Mailbox, MailboxSlot, MailboxWriter } from './transport.js';

/** Bytes one slot may hold for a slow reader. */
export const defaultSlotBytes = 4 * 1_024 * 1_024;

/** The mailbox of one process: one address, one reader, a slot per open request. */
export class LinkedMailbox implements Mailbox {
  readonly address = randomBytes(8).toString('hex');
  private readonly slots = new Map<string, BufferedSlot>();
  private reading: Promise<{ close(): Promise<void> }> | null = null;

  constructor(
    private readonly link: MailboxLink,
    readonly outbox: MailboxOutbox,
    private readonly slotBytes: number,
  ) {}

  async start(): Promise<void> {
    this.reading ??= this.link.receive(this.address, {
      onMessage: (text) => this.receive(text),
      onLost: () => this.failOpenSlots('A part of the answer was lost on its way.'),
    });
    await this.reading;
  }

  open(requestId: string): MailboxSlot {
    this.slots.get(requestId)?.close();
    const slot: BufferedSlot = new BufferedSlot(this.slotBytes, () => {
      if (this.slots.get(requestId) === slot) this.slots.delete(requestId);
    });
    this.slots.set(requestId, slot);
    return slot;
  }

  writer(address: string, requestId: string): MailboxWriter {
    return this.outbox.writer(address, requestId);
  }

  async close(): Promise<void> {
    const reading = await this.reading;
    await reading?.close();
    this.failOpenSlots('The service is stopping.');
  }

  private receive(text: string): void {
    // Events for slots that are closed or of another life of this process are nobody's any more.
    for (const part of decodeFrame(text)) this.slots.get(part.requestId)?.accept(part);
  }

  private failOpenSlots(message: string): void {
    for (const slot of this.slots.values()) slot.fail(new PlatformError('SERVICE_UNAVAILABLE', message));
  }
}
