import type { JobQuote } from '#billing';
import type { StartedJob } from '#gateway';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { NormalizedChat } from './chat.normalizer.js';
import type { WebCall } from './web-source.js';

/** An admitted chat, and the events of its job. */
export interface StartedChat {
  chat: NormalizedChat;
  job: StartedJob<ChatEvent> & { quote: JobQuote };
  /** Lookups in the web, which were made before the model began. Absent: none. */
  webCalls?: readonly WebCall[];
}
