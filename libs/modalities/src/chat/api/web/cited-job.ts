import type { StartedChat } from '../job/started-chat.js';
import type { ChatEvent, TextDeltaEvent } from '../../contract/chat.events.js';
import { ReferenceFilter } from './reference-filter.js';

/** Events of a chat whose texts cite nothing but their sources. */
export class CitedEvents {
  private readonly filters = new Map<number, ReferenceFilter>();

  constructor(private readonly sourceCount: number) {}

  add(event: ChatEvent): ChatEvent[] {
    if (event.type === 'prompt-ready') return [event];
    const { index } = event;
    if (event.type === 'text-delta' && event.channel === 'content') {
      const text = this.filterOf(index).push(event.text);
      return text === '' && event.logprobs === null ? [] : [{ ...event, text }];
    }
    // Text before a call, and the end of a choice, decide what was held back.
    return event.type === 'text-delta' ? [event] : [...this.rest(index), event];
  }

  private rest(index: number): TextDeltaEvent[] {
    const text = this.filters.get(index)?.finish() ?? '';
    return text === '' ? [] : [{ type: 'text-delta', index, channel: 'content', text, tokens: 0, logprobs: null }];
  }

  private filterOf(index: number): ReferenceFilter {
    const known = this.filters.get(index) ?? new ReferenceFilter(this.sourceCount);
    this.filters.set(index, known);
    return known;
  }
}

/** The same job with checked citations. */
export function citedJob(job: StartedChat['job'], sourceCount: number): StartedChat['job'] {
  return {
    ...job,
    follow: (onEvent, onRepeat) => {
      let events = new CitedEvents(sourceCount);
      const passOn = async (event: ChatEvent): Promise<void> => {
        for (const checked of events.add(event)) await onEvent(checked);
      };
      const startOver =
        onRepeat &&
        ((): void => {
          events = new CitedEvents(sourceCount);
          onRepeat();
        });
      return job.follow(passOn, startOver);
    },
  };
}
