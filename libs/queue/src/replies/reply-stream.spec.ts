import { describe, expect, it } from 'vitest';
import { BufferedSlot } from './reply-stream.js';
import type { ReplyEvent } from '../transport.js';

const text = (value: string) => ({ type: 'text-delta', value }) as ReplyEvent;
const final: ReplyEvent = { type: 'job-finished' };

function openReplyStream(maxBufferedBytes = 10_000): BufferedSlot {
  return new BufferedSlot(maxBufferedBytes, () => undefined);
}

async function readAll(slot: BufferedSlot): Promise<ReplyEvent[]> {
  const events: ReplyEvent[] = [];
  for await (const event of slot) events.push(event);
  return events;
}

describe('mailbox slot', () => {
  it('drops repeated events, also those that overlap new ones', async () => {
    const slot = openReplyStream();
    slot.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0'), text('1')] });
    slot.accept({ requestId: 'r', stream: 'a', first: 1, events: [text('1'), text('2')] });
    slot.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    slot.accept({ requestId: 'r', stream: 'a', first: 3, events: [final] });
    expect(await readAll(slot)).toEqual([text('0'), text('1'), text('2'), final]);
  });

  it('ends with an error after what came before a gap', async () => {
    const slot = openReplyStream();
    slot.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    slot.accept({ requestId: 'r', stream: 'a', first: 2, events: [final] });
    expect(await slot.next()).toEqual({ done: false, value: text('0') });
    await expect(slot.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('ends with an error when the beginning of the only stream is missing', async () => {
    const slot = openReplyStream();
    slot.accept({ requestId: 'r', stream: 'a', first: 1, events: [final] });
    await expect(slot.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('follows the newest delivery and ignores what the one before it still sends', async () => {
    const slot = openReplyStream();
    slot.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('old')] });
    slot.accept({ requestId: 'r', stream: 'b', first: 0, events: [text('new')] });
    slot.accept({ requestId: 'r', stream: 'a', first: 1, events: [final] });
    slot.accept({ requestId: 'r', stream: 'b', first: 1, events: [final] });
    expect(await readAll(slot)).toEqual([text('old'), text('new'), final]);
  });

  it('hands events to a reader that waits, and ends its wait when it is closed', async () => {
    const slot = openReplyStream();
    const first = slot.next();
    slot.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    expect(await first).toEqual({ done: false, value: text('0') });
    const second = slot.next();
    slot.close();
    expect(await second).toEqual({ done: true, value: undefined });
  });

  it('gives up more than it may hold, and keeps nothing of it', async () => {
    const slot = openReplyStream(1_000);
    for (let index = 0; index < 20; index += 1) {
      slot.accept({ requestId: 'r', stream: 'a', first: index, events: [text('x'.repeat(100))] });
    }
    await expect(slot.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});
