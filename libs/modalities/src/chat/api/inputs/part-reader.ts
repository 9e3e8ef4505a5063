import type { ModelRequest } from '#gateway';
import type { ChatPart } from '../../contract/chat.message.js';

/** Where a content part stands and which request it belongs to. */
export interface PartContext {
  /** Path of the part, to name in errors: `messages[0].content[1]`. */
  param: string;
  /** The request; `opened.http.disconnected` aborts when the client disconnects. */
  opened: ModelRequest;
}

/** Turns one content part that the model cannot read itself into text. */
export interface PartReader {
  readonly type: ChatPart['type'];
  /** Maximum number of such parts in one request; absent: any. */
  readonly maxParts?: number;
  /**
   * Returns the text that replaces the part in the prompt. Rejects with a `PlatformError` whose `param` starts with the
   * part's path. Nothing may be charged for a part of a request that fails.
   */
  read(part: ChatPart, context: PartContext): Promise<string>;
}
