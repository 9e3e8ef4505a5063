import { describe, expect, it } from 'vitest';
import { readEvents, SseReader } from './sse-reader.js';

describe('SseReader', () => {
  it('reads the same events wherever the stream is cut', () => {
    const stream = ': open\n\ndata: {"a":1}\n\ndata:two\ndata: lines\r\n\r\n: ping\n\nid: 4\ndata: [DONE]\n\n';
    const whole = ['{"a":1}', 'two\nlines', '[DONE]'];
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const reader = new SseReader();
      expect([...reader.read(stream.slice(0, cut)), ...reader.read(stream.slice(cut))]).toEqual(whole);
    }
    const reader = new SseReader();
    expect([...stream].flatMap((character) => reader.read(character))).toEqual(whole);
  });

  it('keeps an event that has no end', () => {
    const reader = new SseReader();
    expect(reader.read('data: half')).toEqual([]);
    expect(reader.read(' of it\n\n')).toEqual(['half of it']);
  });
});

describe('readEvents', () => {
  it('reads characters that two pieces of the body share', async () => {
    const bytes = new TextEncoder().encode('data: 🙂 é\n\ndata: end\n\n');
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const events: string[] = [];
    for await (const event of readEvents(new Response(body))) events.push(event);
    expect(events).toEqual(['🙂 é', 'end']);
  });

  it('cancels the body when its reader stops', async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: a\n\ndata: b\n\n')),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const event of readEvents(new Response(body))) {
      expect(event).toBe('a');
      break;
    }
    expect(isCancelled).toBe(true);
  });
});
