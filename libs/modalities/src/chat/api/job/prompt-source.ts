import type { NanoUsd } from '#common';
import type { ChatMessage } from '../../contract/chat.message.js';
import type { WebUse } from '../../contract/chat.web-meter.js';
import type { StartedChat } from './started-chat.js';
import type { WebObserver } from './web-source.js';

/** What a source gets when it runs. */
export interface SourceRun {
  /** What the first of its jobs reserves, in nano-USD: its own price and that of everything after it. */
  reservedNano: NanoUsd;
  /** Aborts when nobody waits for the texts any more. */
  signal: AbortSignal;
  /** Follows lookups in the web. */
  observer?: WebObserver;
}

/**
 * Something that adds texts to the prompt of one request: input adapters, the documents of a character, the web. The
 * request is limited and reserved with the longest texts that its sources may add, before any of them runs.
 */
export interface PromptSource {
  /**
   * Null: it runs before the admission of the chat, as jobs with limits, reservations and charges of their own.
   * Otherwise it runs after the admission, on the bill of the chat, for at most this time, in ms.
   */
  readonly afterAdmissionMs: number | null;
  /** Worst-case price of its own jobs, in nano-USD; known after `limit`. */
  readonly amountNano: NanoUsd;
  /** What the bill of the chat gets: at most before `run`, exactly after it. */
  readonly use: WebUse;
  /** Returns the messages with texts at least as long as those of `run`. The bound is closer after `limit`. */
  bound(messages: ChatMessage[]): ChatMessage[];
  /** Reads its inputs and applies the limits of its jobs. Nothing runs, and nothing is charged. */
  limit(): Promise<void>;
  /** Returns the messages with its texts. Jobs that ran before one fails stay charged. */
  run(messages: ChatMessage[], run: SourceRun): Promise<ChatMessage[]>;
  /** Adds what the response says about the source. */
  present(started: StartedChat): StartedChat;
}

/** The sources of one request, in the order in which they run. */
export class PromptSources {
  private pending: readonly PromptSource[];

  constructor(private readonly all: readonly PromptSource[]) {
    this.pending = all;
  }

  /** Whether some of them have jobs of their own, which run before the chat is admitted. */
  get haveJobs(): boolean {
    return this.pending.some(({ afterAdmissionMs }) => afterAdmissionMs === null);
  }

  /** The source that runs after the admission of the chat; undefined: none. */
  get lookup(): PromptSource | undefined {
    return this.all.find(({ afterAdmissionMs }) => afterAdmissionMs !== null);
  }

  /** What the bill of the chat gets at most. */
  get use(): WebUse {
    return Object.assign({}, ...this.all.map(({ use }) => use)) as WebUse;
  }

  /** Returns the messages with the longest texts of the sources that did not run yet. */
  bound(messages: ChatMessage[]): ChatMessage[] {
    return this.pending.reduce((bounded, source) => source.bound(bounded), messages);
  }

  /** Applies the limits of every job before the first one runs. The last source comes first: it has nothing to fetch. */
  async limit(): Promise<void> {
    for (const source of this.pending.toReversed()) await source.limit();
  }

  /**
   * Runs the sources with jobs of their own. Each reserves what everything after it costs too, so that an account that
   * cannot pay for all is charged for nothing. `minNano` is the least that the chat itself costs with some messages.
   */
  async runJobs(
    messages: ChatMessage[],
    { minNano, signal }: { minNano: (messages: ChatMessage[]) => NanoUsd; signal: AbortSignal },
  ): Promise<ChatMessage[]> {
    let complete = messages;
    for (const source of this.pending.filter(({ afterAdmissionMs }) => afterAdmissionMs === null)) {
      const jobsNano = this.pending.reduce((sum, { amountNano }) => sum + amountNano, 0n);
      complete = await source.run(complete, { reservedNano: jobsNano + minNano(this.bound(complete)), signal });
      this.pending = this.pending.filter((other) => other !== source);
    }
    return complete;
  }

  present(started: StartedChat): StartedChat {
    return this.all.reduce((presented, source) => source.present(presented), started);
  }
}
