import type { MailboxEvent } from '#queue';

/** The next bytes of the sound, as they go to the caller. */
export interface SoundPartEvent extends MailboxEvent {
  type: 'sound-part';
  /** Base64. */
  data: string;
}

/** The next bytes of the sound, in the storage: what a slow reader has not taken yet must not wait in memory. */
export interface SoundStoredEvent extends MailboxEvent {
  type: 'sound-stored';
  artifactId: string;
  bytes: number;
}

/** The sound is whole; sent once, before the job ends. */
export interface SoundEndedEvent extends MailboxEvent {
  type: 'sound-ended';
  /** Samples of the one channel, before they were encoded. */
  samples: number;
}

export type SpeechEvent = SoundPartEvent | SoundStoredEvent | SoundEndedEvent;

/** Bytes of one request that may travel as `sound-part`: with their encoding they fit the slot of a mailbox twice. */
export const mostInlineBytes = 1_024 * 1_024;
