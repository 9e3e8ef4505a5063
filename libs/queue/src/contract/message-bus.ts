/** The pool whose credentials the store saw the sender use, or null for the credentials of the installation. */
export type MessageOrigin = string | null;

/** Origin of a sender that the store has not identified yet. No pool can have this name. */
export const unknownOrigin = '?';

export type MessageListener = (text: string, origin: MessageOrigin) => void;

/** Why a message was dropped before its signature was checked. */
export type DropReason = 'too-large' | 'flood';

export type DropListener = (channel: string, reason: DropReason, origin: MessageOrigin) => void;

/** Sends text messages to every listening process. At most once: disconnected processes miss them. */
export interface MessageBus {
  publish(channel: string, text: string): Promise<void>;
  /** Calls the listener for every message until the returned function is called. */
  subscribe(channel: string, listener: MessageListener): Promise<() => void>;
  /** Calls the listener for every message that was dropped. Accepts one listener. */
  onDropped(listener: DropListener): void;
  /** False while messages of other processes could not be received. */
  isConnected(): boolean;
  /** Calls the listener after the connection was lost and restored: messages in between are lost. */
  onReconnect(listener: () => void): () => void;
}

/** The process that sent a message. */
export interface BusSender {
  /** Unique for each process, or null when messages are not verified here. */
  readonly id: string | null;
  /** The models for which the sender may speak, or null when it may speak for the installation. */
  readonly models: readonly string[] | null;
  readonly isSelf: boolean;
  readonly origin: MessageOrigin;
}

/** The bus as the rest of the queue uses it: each message arrives once, with the sender that `trust/` has verified. */
export interface VerifiedBus extends Pick<MessageBus, 'publish' | 'isConnected' | 'onReconnect'> {
  /** The models for which this process may speak, or null when it may speak for all. */
  readonly models: readonly string[] | null;
  /** Accepts one listener for each channel, because each message counts once. */
  subscribe(channel: string, listener: (text: string, sender: BusSender) => void): Promise<() => void>;
  /** Counts a message that its sender is not allowed to send. */
  refuse(channel: string, sender: BusSender): void;
}
