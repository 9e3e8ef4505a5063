import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { AccountCipher, collectEvents, RequestPipeline } from '#gateway';
import { ApiConfig } from '#platform/config';
import type { HttpExchange, StreamedResponse } from '#platform/http';
import { MessagesCountRequest, MessagesRequest } from '../../contract/messages/messages.request.js';
import type { MessagesResponse, MessagesTokenCount } from '../../contract/messages/messages.response.js';
import { ChatStarter } from '../chat/chat.starter.js';
import { FinishedTextCheck } from '../chat/finished-text-check.js';
import { PromptCounter } from '../chat/prompt-counter.js';
import type { StartedChat } from '../job/started-chat.js';
import type { MessageOptions } from './message-builder.js';
import { refuseUnknown, type TranslatedMessages, translateMessages } from './messages.normalizer.js';
import {
  MessageCollector,
  messageId,
  MessagesFormat,
  type MessagesHead,
  MessagesStreamPresenter,
} from './messages.presenter.js';

/**
 * Versions of the API. The later one has no sampling parameters and fewer places for documents and citations; what this
 * route accepts, it accepts from clients of both.
 */
const apiVersions: readonly unknown[] = ['2023-06-01', '2026-10-21'];

/** Chat in the Messages format: between translation and presenter it is a chat. */
@Injectable()
export class MessagesService {
  private readonly signatures: AccountCipher;

  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly chats: ChatStarter,
    private readonly counter: PromptCounter,
    @Inject(ApiConfig) { secretKeys }: Pick<ApiConfig, 'secretKeys'>,
  ) {
    this.signatures = new AccountCipher(secretKeys, 'signatures of thinking');
  }

  /** Counts the tokens of the prompt. Rejects as `PromptCounter.count` does, with the fields of the client. */
  async countTokens(http: HttpExchange, body: MessagesCountRequest): Promise<MessagesTokenCount> {
    refuseUnknown(MessagesCountRequest, body);
    const { chat, names } = this.open(http, body);
    const tokens = await names.within(() => this.counter.count(http, chat, { reducesToModel: true }));
    return { input_tokens: tokens };
  }

  /** Returns the message, whole or as events. Rejects as `ChatStarter.start` does, with the fields of the client. */
  async create(http: HttpExchange, body: MessagesRequest): Promise<MessagesResponse | StreamedResponse> {
    refuseUnknown(MessagesRequest, body);
    const translated = this.open(http, body);
    // A failure before the first event is renamed here; the presenter renames one behind it.
    if (body.stream === true) http.format = new MessagesFormat(http.request.id);
    return await translated.names.within(() => this.respond(http, translated));
  }

  private open(http: HttpExchange, body: MessagesRequest | MessagesCountRequest): TranslatedMessages {
    http.setHeaders({ 'request-id': http.request.id });
    checkVersion(http);
    const { accountId } = http.caller;
    return translateMessages(body, (signature) => this.signatures.open(accountId, signature));
  }

  private async respond(
    http: HttpExchange,
    translated: TranslatedMessages,
  ): Promise<MessagesResponse | StreamedResponse> {
    const { chat, names, thinkingBudget, omitsThinking } = translated;
    const { accountId } = http.caller;
    const started = await this.chats.start(http, chat, {
      responseId: messageId(http.request.id),
      reducesToModel: true,
      thinkingBudget,
    });
    const head = headOf(http, translated, started);
    const options: MessageOptions = { omitsThinking, sign: (text) => this.signatures.seal(accountId, text) };
    const newCheck = () => new FinishedTextCheck(started.chat.payload, (path) => names.nameOf(path));
    if (chat.stream === true) {
      const presenter = new MessagesStreamPresenter(head, names, { ...options, check: newCheck() });
      return this.pipeline.stream(started.job, presenter).within((send) => names.within(send));
    }
    const newCollector = () => new MessageCollector(head, options, newCheck());
    const { collected, usage } = await collectEvents(started.job, newCollector);
    return collected.message(usage);
  }
}

function headOf(
  { request }: HttpExchange,
  { names, warnings }: TranslatedMessages,
  { chat, job }: StartedChat,
): MessagesHead {
  const ofChat = chat.warnings.map((warning) => ({ ...warning, param: names.nameOf(warning.param) }));
  return { requestId: request.id, modelId: job.quote.price.modelId, warnings: [...warnings, ...ofChat] };
}

/** Throws `INVALID_REQUEST` for a client that speaks a version that is unknown here. The header may be absent. */
function checkVersion({ request }: HttpExchange): void {
  const version = request.headers['anthropic-version'] ?? apiVersions[0];
  if (apiVersions.includes(version)) return;
  const message = `anthropic-version must be one of: ${apiVersions.join(', ')}.`;
  throw new PlatformError('INVALID_REQUEST', message, 'anthropic-version');
}
