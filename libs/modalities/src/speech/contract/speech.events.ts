import type { ReplyEvent } from '#queue';

/** The next bytes of the audio, as they go to the client. */
export interface AudioPartEvent extends ReplyEvent {
  type: 'audio-part';
  /** Base64. */
  data: string;
}

/** The next bytes of the audio, in the artifact store: what a slow reader has not taken yet must not wait in memory. */
export interface AudioStoredEvent extends ReplyEvent {
  type: 'audio-stored';
  artifactId: string;
  bytes: number;
}

/** The audio is complete; sent once, before the job ends. */
export interface AudioEndedEvent extends ReplyEvent {
  type: 'audio-ended';
  /** Mono samples before encoding. */
  samples: number;
}

export type SpeechEvent = AudioPartEvent | AudioStoredEvent | AudioEndedEvent;

/** Bytes of one request that may travel as `audio-part`: encoded, they fit the buffer of a reply stream twice. */
export const maxInlineBytes = 1_024 * 1_024;
