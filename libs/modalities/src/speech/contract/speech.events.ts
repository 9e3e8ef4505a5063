import type { ReplyEvent } from '#queue';

/** The next bytes of the sound, as they go to the caller. */
export interface AudioPartEvent extends ReplyEvent {
  type: 'sound-part';
  /** Base64. */
  data: string;
}

/** The next bytes of the sound, in the storage: what a slow reader has not taken yet must not wait in memory. */
export interface AudioStoredEvent extends ReplyEvent {
  type: 'sound-stored';
  artifactId: string;
  bytes: number;
}

/** The sound is whole; sent once, before the job ends. */
export interface AudioEndedEvent extends ReplyEvent {
  type: 'sound-ended';
  /** Samples of the one channel, before they were encoded. */
  samples: number;
}

export type SpeechEvent = AudioPartEvent | AudioStoredEvent | AudioEndedEvent;

/** Bytes of one request that may travel as `sound-part`: with their encoding they fit the slot of a mailbox twice. */
export const maxInlineBytes = 1_024 * 1_024;
