import { Inject, Injectable } from '@nestjs/common';
import { ClientDisconnectedError, type ModelRequest } from '#gateway';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { ChatImages } from './chat-images.js';
import { checkPartCounts, findParts, type PartPosition, withTexts } from './content-parts.js';
import type { PartReader } from './part-reader.js';

/** The readers of a process, a `PartReader[]`; the module of chat lists them. */
export const partReaders = Symbol('partReaders');

/** Stores the images that a model reads itself and replaces the parts that it cannot read by text parts. */
@Injectable()
export class ChatInputs {
  private readonly readers: Map<ChatPart['type'], PartReader>;

  constructor(
    @Inject(partReaders) readers: readonly PartReader[],
    private readonly images: ChatImages,
  ) {
    this.readers = new Map(readers.map((reader) => [reader.type, reader]));
  }

  /**
   * Returns the messages with each image stored and each readable part replaced by its text, or the same array if there
   * is neither. Parts are read one after the other, so that one request uses one extractor. Rejects with the first error
   * of a reader, and with `INVALID_REQUEST` for too many parts of a type, before any is read.
   */
  async prepare(messages: ChatMessage[], opened: ModelRequest): Promise<ChatMessage[]> {
    const positions = findParts(messages, new Set(this.readers.keys()));
    checkPartCounts(positions, (type) => this.readers.get(type)?.maxParts);
    return await this.images.prepare(await this.readTexts(messages, positions, opened), opened);
  }

  private async readTexts(
    messages: ChatMessage[],
    positions: readonly PartPosition[],
    opened: ModelRequest,
  ): Promise<ChatMessage[]> {
    const texts = new Map<ChatPart, string>();
    for (const { part, param } of positions) {
      const text = await this.readers
        .get(part.type)
        ?.read(part, { param, opened })
        .catch((error: unknown) => {
          throw opened.http.disconnected.aborted ? new ClientDisconnectedError() : error;
        });
      if (text !== undefined) texts.set(part, text);
    }
    return withTexts(messages, texts);
  }
}
