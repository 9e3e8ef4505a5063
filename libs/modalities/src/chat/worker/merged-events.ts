import type { ChatEvent, TextDeltaEvent, ToolCallDeltaEvent } from '../contract/index.js';

/** Maximum number of pending events; it bounds the memory of a response of any length. */
const maxWaiting = 256;

/**
 * Events for a client that waits for the complete response: the deltas of a choice become one, because a message per
 * token would cost three processes work without any use.
 */
export class MergedEvents {
  private waiting: ChatEvent[] = [];

  /** Returns the events that must be sent now, if any. */
  add(events: readonly ChatEvent[]): ChatEvent[] {
    this.waiting.push(...events);
    return this.waiting.length < maxWaiting ? [] : this.take();
  }

  /** Returns all pending events, merged. */
  take(): ChatEvent[] {
    const merged: ChatEvent[] = [];
    const open = new Map<string, TextDeltaEvent | ToolCallDeltaEvent>();
    for (const event of this.waiting) {
      if (event.type !== 'text-delta' && event.type !== 'tool-call-delta') {
        merged.push(event);
        continue;
      }
      const channel = `${event.index} ${event.type === 'text-delta' ? event.channel : event.call}`;
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
