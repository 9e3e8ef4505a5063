import type { ChatEvent, TextDeltaEvent } from '../contract/index.js';

/** Events that wait at most: an answer of any length then needs no more room than this many tokens. */
const maxWaiting = 256;

/**
 * Events for a caller who waits for the whole answer: the deltas of a choice become one, since a message per token
 * would be work for three processes and news to nobody.
 */
export class MergedEvents {
  private waiting: ChatEvent[] = [];

  /** The events that have to go now, if any. */
  add(events: readonly ChatEvent[]): ChatEvent[] {
    this.waiting.push(...events);
    return this.waiting.length < maxWaiting ? [] : this.take();
  }

  /** All that wait, merged. */
  take(): ChatEvent[] {
    const merged: ChatEvent[] = [];
    const open = new Map<string, TextDeltaEvent>();
    for (const event of this.waiting) {
      if (event.type !== 'text-delta') {
        merged.push(event);
        continue;
      }
      const channel = `${event.index} ${event.channel}`;
      const known = open.get(channel);
      if (known === undefined) {
        const first = { ...event, logprobs: event.logprobs && [...event.logprobs] };
        open.set(channel, first);
        merged.push(first);
        continue;
      }
      known.text += event.text;
      known.tokens += event.tokens;
      if (event.logprobs !== null) (known.logprobs ??= []).push(...event.logprobs);
    }
    this.waiting = [];
    return merged;
  }
}
