/** Reads server-sent events from pieces of text, which may end anywhere. */
export class SseReader {
  private pending = '';

  /** Returns the data of the events that the piece completes. */
  read(piece: string): string[] {
    this.pending += piece;
    const events: string[] = [];
    for (;;) {
      const end = /\r?\n\r?\n|\r\r/.exec(this.pending);
      if (end === null) return events;
      const data = dataOf(this.pending.slice(0, end.index));
      this.pending = this.pending.slice(end.index + end[0].length);
      if (data !== null) events.push(data);
    }
  }
}

/** Returns the data of one event; null for a comment, which only keeps the connection open. */
function dataOf(event: string): string | null {
  const lines = event
    .split(/\r?\n|\r/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''));
  return lines.length === 0 ? null : lines.join('\n');
}

/** Yields the data of each event of a response. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const events = new SseReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* events.read(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
