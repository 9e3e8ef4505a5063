import { Controller, HttpCode, Inject, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { collectEvents, ModelRoute, RequestPipeline } from '#gateway';
import { callerOf, WireBody } from '#platform/http';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import type { ResponsesInputTokens, ResponsesWarning } from '../../contract/responses/responses.response.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import { ChatStarter } from '../chat/chat.starter.js';
import { FinishedTextCheck } from '../chat/finished-text-check.js';
import { PromptCounter } from './prompt-counter.js';
import { ResponseHistory } from './response-history.js';
import { inputTokensDocument, responsesDocument } from './responses.document.js';
import { translateResponses } from './responses.normalizer.js';
import { ResponsesOptions } from './responses.options.js';
import { ResponsesCollector, ResponsesStreamPresenter, storedPresenter } from './responses.presenter.js';
import { type ResponsesHead, responsesHead, responsesId } from './responses.resource.js';
import { skippedTool } from './tool-translator.js';
import { webWarnings } from './url-citations.js';
import type { WebObserver } from '../web/web-source.js';

/** Chat in the Responses wire format; below the presenter it is a chat. */
@Controller()
export class ResponsesController {
  constructor(
    @Inject(RequestPipeline) private readonly pipeline: RequestPipeline,
    @Inject(ChatStarter) private readonly chats: ChatStarter,
    @Inject(ResponsesOptions) private readonly options: ResponsesOptions,
    @Inject(ResponseHistory) private readonly history: ResponseHistory,
    @Inject(PromptCounter) private readonly counter: PromptCounter,
  ) {}

  @Post('responses/input_tokens')
  @HttpCode(200)
  @ModelRoute(inputTokensDocument, { free: true })
  async countInput(@WireBody(ResponsesRequest) wire: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http): Promise<ResponsesInputTokens> => {
      const { accountId } = callerOf(reply.request);
      const { request, history } = await this.history.open(wire, { accountId, requestId: reply.request.id });
      const openReasoning = (content: string) => this.options.openReasoning(accountId, content);
      const { chat, names } = translateResponses(request, openReasoning, history);
      const tokens = await names.within(() => this.counter.count(http, chat));
      return { object: 'response.input_tokens', input_tokens: tokens };
    });
  }

  @Post('responses')
  @ModelRoute(responsesDocument)
  async create(@WireBody(ResponsesRequest) wire: ResponsesRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.pipeline.handle(reply, async (http) => {
      const { accountId } = callerOf(reply.request);
      const requestId = reply.request.id;
      const { request, history, store } = await this.history.open(wire, { accountId, requestId });
      const openReasoning = (content: string) => this.options.openReasoning(accountId, content);
      const translated = translateResponses(request, openReasoning, history);
      const { names } = translated;
      return await names.within(async () => {
        const tools = translated.toolNames;
        const output = { ...this.options.outputOf(request, { requestId, accountId }), tools };
        const headOf = (chat: NormalizedChat, modelId: string, skipped: ResponsesWarning[] = []): ResponsesHead => {
          const ofSchemas = chat.warnings.map((warning) => ({ ...warning, param: names.nameOf(warning.param) }));
          const warnings = [...translated.warnings, ...skipped, ...ofSchemas, ...webWarnings(chat.parameters)];
          return responsesHead({
            ...translated,
            warnings,
            request,
            chat,
            requestId,
            modelId,
            isStored: store !== null,
          });
        };
        let begun: ResponsesStreamPresenter | null = null;
        /** A stream shows lookups as they are made. */
        const observeWeb = ({ chat, modelId }: { chat: NormalizedChat; modelId: string }): WebObserver => {
          begun = new ResponsesStreamPresenter(headOf(chat, modelId), names, output);
          http.format = begun;
          return begun.webObserver((chunks) => http.sendEarly(chunks));
        };
        const { chat, job, webCalls, unusableTools } = await this.chats.start(http, translated.chat, {
          responseId: responsesId(requestId),
          // Coding agents name the search of the web in every request.
          serverToolsAreOptional: true,
          truncates: request.truncation === 'auto',
          ...(request.stream === true && { observeWeb }),
        });
        const skipped = unusableTools.map(({ path, problem }) => skippedTool(names.nameOf(path), problem));
        const head = headOf(chat, job.quote.price.modelId, skipped);
        const sources = chat.parameters.web_search_citations;
        const newTextCheck = () => new FinishedTextCheck(chat.payload, (path) => names.nameOf(path));
        if (request.stream === true) {
          const presenter = begun ?? new ResponsesStreamPresenter(head, names, output);
          presenter.begin(head, sources, newTextCheck());
          return await this.pipeline.stream(http, job, store === null ? presenter : storedPresenter(presenter, store));
        }
        const newCollector = () =>
          new ResponsesCollector(head, output, { calls: webCalls, sources, check: newTextCheck() });
        const { collected, usage } = await collectEvents(job, newCollector);
        const response = collected.response(usage);
        return store === null ? response : await store(response);
      });
    });
  }
}
