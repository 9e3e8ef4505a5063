import { Inject, Injectable } from '@nestjs/common';
import { ClientDisconnectedError, invalidField, type ModelRequest } from '#gateway';
import type { ChatMessage, ChatPart } from '../../contract/chat.message.js';
import { ChatImages } from './chat-images.js';
import type { PartReader } from './part-reader.js';

/** The readers of a process, a `PartReader[]`; the module of chat lists them. */
export const partReaders = Symbol('partReaders');

interface PartPosition {
  part: ChatPart;
  reader: PartReader;
  message: number;
  index: number;
}

/** Stores the images that a model reads itself and replaces the parts that it cannot read by text parts. */
@Injectable()
export class ChatInputs {
  private readonly readers: Map<ChatPart['type'], PartReader>;

  constructor(
    @Inject(partReaders) readers: readonly PartReader[],
    @Inject(ChatImages) private readonly images: Pick<ChatImages, 'prepare'>,
  ) {
    this.readers = new Map(readers.map((reader) => [reader.type, reader]));
  }

  /**
   * Returns the messages with each image stored and each readable part replaced by its text, or the same array if there
   * is neither. Parts are read one after the other, so that one request uses one extractor. Rejects with the first error of a reader, and with
   * `INVALID_REQUEST` for too many parts of a type, before any is read.
   */
  async prepare(messages: ChatMessage[], opened: ModelRequest): Promise<ChatMessage[]> {
    const positions = this.find(messages);
    checkCounts(positions);
    const withTexts = await this.readTexts(messages, positions, opened);
    return await this.images.prepare(withTexts, opened);
  }

  private async readTexts(
    messages: ChatMessage[],
    positions: readonly PartPosition[],
    opened: ModelRequest,
  ): Promise<ChatMessage[]> {
    if (positions.length === 0) return messages;
    const texts = new Map<ChatPart, string>();
    for (const { part, reader, message, index } of positions) {
      const reading = reader.read(part, { param: pathOf(message, index), opened });
      texts.set(
        part,
        await reading.catch((error: unknown) => {
          throw opened.http.disconnected.aborted ? new ClientDisconnectedError() : error;
        }),
      );
    }
    return messages.map((message) => withTexts(message, texts));
  }

  private find(messages: readonly ChatMessage[]): PartPosition[] {
    return messages.flatMap(({ content }, message) => {
      if (!Array.isArray(content)) return [];
      return content.flatMap((part: ChatPart, index) => {
        const reader = this.readers.get(part.type);
        return reader === undefined ? [] : [{ part, reader, message, index }];
      });
    });
  }
}

function pathOf(message: number, index: number): string {
  return `messages[${message}].content[${index}]`;
}

function checkCounts(positions: readonly PartPosition[]): void {
  const counts = new Map<PartReader, number>();
  for (const { reader, message, index } of positions) {
    const count = (counts.get(reader) ?? 0) + 1;
    counts.set(reader, count);
    if (count <= (reader.maxParts ?? Number.POSITIVE_INFINITY)) continue;
    const text = `A request may hold at most ${reader.maxParts} parts of type ${reader.type}.`;
    throw invalidField(text, pathOf(message, index), 'too_big');
  }
}

function withTexts(message: ChatMessage, texts: ReadonlyMap<ChatPart, string>): ChatMessage {
  const { content } = message;
  if (!Array.isArray(content) || !content.some((part) => texts.has(part))) return message;
  const parts = content.map((part: ChatPart): ChatPart => {
    const text = texts.get(part);
    return text === undefined ? part : { type: 'text', text };
  });
  // Only user messages hold parts that are not text.
  return { ...message, content: parts } as ChatMessage;
}
