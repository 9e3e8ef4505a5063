import type { FastifyReply } from 'fastify';
import { PlatformError, type TokenUsage } from '#common';
import { ClientDisconnectedError } from '#gateway';
import { sseData, SseWriter, type SseWriterOptions } from '#platform/http';
import type { ChatEvent } from '../contract/chat.events.js';
import { type ChatCompletionHead, ChatChunkPresenter } from './chat.presenter.js';

/** The streamed answer of one request: chunks while it runs, then either `[DONE]` or an error frame. */
export class ChatStream {
  private readonly writer: SseWriter;
  private readonly presenter: ChatChunkPresenter;
  private textSent = false;

  constructor(
    reply: FastifyReply,
    head: ChatCompletionHead,
    private readonly options: SseWriterOptions & { includeUsage: boolean },
  ) {
    this.writer = new SseWriter(reply, options);
    this.presenter = new ChatChunkPresenter(head, options.includeUsage);
  }

  /** From now on the silence of a waiting job is filled with comments. */
  open(): void {
    this.writer.startKeepAlive();
  }

  async add(event: ChatEvent): Promise<void> {
    if (event.type === 'prompt-ready' && this.textSent) {
      // Another worker took the job over; the caller already holds a part of the first answer.
      throw new PlatformError('INFERENCE_FAILED', 'The answer was interrupted.');
    }
    this.textSent ||= event.type === 'text-delta';
    const chunks = this.presenter.chunks(event);
    if (chunks.length > 0) await this.send(chunks.map(sseData).join(''));
  }

  async finish(usage: TokenUsage): Promise<void> {
    const last = this.options.includeUsage ? sseData(this.presenter.usage(usage)) : '';
    await this.send(`${last}${sseData('[DONE]')}`);
    this.writer.end();
  }

  /**
   * Ends the answer after an error, with a frame and without `[DONE]`. False when nothing was sent yet: then the
   * error still is the HTTP answer.
   */
  async fail(frame: object | null): Promise<boolean> {
    const { started } = this.writer;
    if (started && frame !== null) await this.writer.write(sseData(JSON.stringify(frame)));
    this.writer.end('failed');
    return started;
  }

  private async send(frames: string): Promise<void> {
    const result = await this.writer.write(frames);
    // A reader that takes nothing is as gone as one that left; its connection is cut already.
    if (result !== 'written') throw new ClientDisconnectedError();
  }
}
