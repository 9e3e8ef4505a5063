import { describe, expect, it } from 'vitest';
import { BufferedReplyStream } from './reply-stream.js';
import type { ReplyEvent } from '../contract/transport.js';

const text = (value: string) => ({ type: 'text-delta', value }) as ReplyEvent;
const final: ReplyEvent = { type: 'job-finished' };

function openReplyStream(maxBufferedBytes = 10_000): BufferedReplyStream {
  return new BufferedReplyStream(maxBufferedBytes, () => undefined);
}

async function readAll(replyStream: BufferedReplyStream): Promise<ReplyEvent[]> {
  const events: ReplyEvent[] = [];
  for await (const event of replyStream) events.push(event);
  return events;
}

describe('reply stream', () => {
  it('drops repeated events, even those that overlap new ones', async () => {
    const replyStream = openReplyStream();
    replyStream.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0'), text('1')] });
    replyStream.accept({ requestId: 'r', stream: 'a', first: 1, events: [text('1'), text('2')] });
    replyStream.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    replyStream.accept({ requestId: 'r', stream: 'a', first: 3, events: [final] });
    expect(await readAll(replyStream)).toEqual([text('0'), text('1'), text('2'), final]);
  });

  it('ends with an error after what came before a gap', async () => {
    const replyStream = openReplyStream();
    replyStream.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    replyStream.accept({ requestId: 'r', stream: 'a', first: 2, events: [final] });
    expect(await replyStream.next()).toEqual({ done: false, value: text('0') });
    await expect(replyStream.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('ends with an error when the beginning of the only stream is missing', async () => {
    const replyStream = openReplyStream();
    replyStream.accept({ requestId: 'r', stream: 'a', first: 1, events: [final] });
    await expect(replyStream.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('follows the newest delivery and ignores what the previous one still sends', async () => {
    const replyStream = openReplyStream();
    replyStream.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('old')] });
    replyStream.accept({ requestId: 'r', stream: 'b', first: 0, events: [text('new')] });
    replyStream.accept({ requestId: 'r', stream: 'a', first: 1, events: [final] });
    replyStream.accept({ requestId: 'r', stream: 'b', first: 1, events: [final] });
    expect(await readAll(replyStream)).toEqual([text('old'), text('new'), final]);
  });

  it('passes events to a waiting reader, and ends its wait when it is closed', async () => {
    const replyStream = openReplyStream();
    const first = replyStream.next();
    replyStream.accept({ requestId: 'r', stream: 'a', first: 0, events: [text('0')] });
    expect(await first).toEqual({ done: false, value: text('0') });
    const second = replyStream.next();
    replyStream.close();
    expect(await second).toEqual({ done: true, value: undefined });
  });

  it('drops everything when more arrives than it may buffer', async () => {
    const replyStream = openReplyStream(1_000);
    for (let index = 0; index < 20; index += 1) {
      replyStream.accept({ requestId: 'r', stream: 'a', first: index, events: [text('x'.repeat(100))] });
    }
    await expect(replyStream.next()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});
