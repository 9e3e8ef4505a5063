import type { EventPresenter } from '#gateway';
import type { HttpExchange } from '#platform/http';
import type { ChatEvent } from '../../contract/chat.events.js';
import type { ResponsesWarning } from '../../contract/responses/responses.response.js';
import { FinishedTextCheck } from '../chat/finished-text-check.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import type { StartedChat } from '../job/started-chat.js';
import type { WebObserver } from '../job/web-source.js';
import type { OutputOptions } from './output-builder.js';
import type { OpenedRequest } from './response-history.js';
import type { TranslatedResponses } from './responses.normalizer.js';
import { ResponsesCollector, ResponsesStreamPresenter, storedPresenter } from './responses.presenter.js';
import { type ResponsesHead, responsesHead } from './responses.resource.js';
import { skippedTool } from './tool-translator.js';
import { webWarnings } from './url-citations.js';

/** Presents the chat of one Responses request. */
export class ResponsePresentation {
  private readonly output: OutputOptions;
  /** The stream, once it began with lookups in the web. */
  private begun: ResponsesStreamPresenter | null = null;

  constructor(
    private readonly opened: Pick<OpenedRequest, 'request' | 'store'> & { translated: TranslatedResponses },
    output: OutputOptions,
  ) {
    this.output = { ...output, tools: opened.translated.toolNames };
  }

  /** Begins the stream before the model: it shows lookups as they are made. */
  observeWeb(http: HttpExchange, { chat, modelId }: { chat: NormalizedChat; modelId: string }): WebObserver {
    const presenter = new ResponsesStreamPresenter(this.head(chat, modelId), this.names, this.output);
    this.begun = presenter;
    http.format = presenter;
    return presenter.webObserver((chunks) => http.sendEarly(chunks));
  }

  /** A presenter of the events of a streamed response. */
  stream(started: StartedChat): EventPresenter<ChatEvent> {
    const { store } = this.opened;
    const head = this.finalHead(started);
    const presenter = this.begun ?? new ResponsesStreamPresenter(head, this.names, this.output);
    presenter.begin(head, started.chat.parameters.web_search_citations, this.newCheck(started));
    return store === null ? presenter : storedPresenter(presenter, store);
  }

  /** Returns a factory of collectors for a response that is sent whole: a job that starts over needs another. */
  collectors(started: StartedChat): () => ResponsesCollector {
    const { webCalls: calls, chat } = started;
    const sources = chat.parameters.web_search_citations;
    const head = this.finalHead(started);
    return () => new ResponsesCollector(head, this.output, { calls, sources, check: this.newCheck(started) });
  }

  private get names() {
    return this.opened.translated.names;
  }

  private newCheck({ chat }: StartedChat): FinishedTextCheck {
    return new FinishedTextCheck(chat.payload, (path) => this.names.nameOf(path));
  }

  /** The head once the job is admitted: it also names the tools that were left out. */
  private finalHead({ chat, job }: StartedChat): ResponsesHead {
    const skipped = chat.unusableTools.map(({ path, problem }) => skippedTool(this.names.nameOf(path), problem));
    return this.head(chat, job.quote.price.modelId, skipped);
  }

  private head(chat: NormalizedChat, modelId: string, skipped: readonly ResponsesWarning[] = []): ResponsesHead {
    const { request, store, translated } = this.opened;
    const ofSchemas = chat.warnings.map((warning) => ({ ...warning, param: this.names.nameOf(warning.param) }));
    const warnings = [...translated.warnings, ...skipped, ...ofSchemas, ...webWarnings(chat.parameters)];
    const { tools } = translated;
    const { requestId } = this.output;
    return responsesHead({ request, chat, tools, warnings, requestId, modelId, isStored: store !== null });
  }
}
