import { Injectable } from '@nestjs/common';
import type { ModelRequest } from '#gateway';
import { type ModelManifest, usesWeb } from '#model-registry/manifest';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import { promptBytes } from '../../contract/chat.meter.js';
import type { CheckedChat } from '../job/checked-chat.js';
import type { NormalizedChat, RawPrompts } from '../job/chat.normalizer.js';
import { ChatWebPlan } from './chat-web-plan.js';
import { PassageScores } from './passage-scores.js';
import type { ScorePassages } from './trim-sources.js';
import { noWebAccess, type WebAccess } from '../job/web-access.js';
import { WebDecision } from './web-decision.js';
import { WebLookup } from './web-lookup.js';
import { latestUserText } from '../job/latest-user-message.js';
import { webRequestOf } from './web-request.js';
import { xRequestOf } from './x-search.js';

/** Bytes of a token of text, roughly. */
const bytesPerToken = 4;

/** Looks things up in the web for chats. */
@Injectable()
export class ChatWeb {
  constructor(
    private readonly lookup: WebLookup,
    private readonly decision: WebDecision,
    private readonly scores: PassageScores,
    private readonly config: ApiConfig,
  ) {}

  /** What a model may look up: models that follow instructions, and those whose manifest says so. */
  accessOf(manifest: ModelManifest, { prompts }: RawPrompts): WebAccess {
    // A text to continue has no message that asks something.
    if (prompts !== undefined) return noWebAccess(manifest.id);
    const xSearch = this.lookup.xAccess(manifest);
    return { ...noWebAccess(manifest.id), ...(usesWeb(manifest) ? this.lookup.access : {}), xSearch };
  }

  /** What a checked request looks up, which joins the prompt of `chat`; null if nothing. */
  plan(
    { parameters, payload }: NormalizedChat,
    { request: body, model }: Pick<CheckedChat, 'request' | 'model'>,
    opened: ModelRequest,
  ): ChatWebPlan | null {
    const { messages } = body;
    const request = webRequestOf(parameters, messages, xRequestOf(body, parameters));
    const { contextLength, web = noWebAccess(model.id) } = model;
    const problem = request?.kind === 'search' ? (request.x === undefined ? web.search : web.xSearch) : null;
    if (request === null || problem !== null) return null;
    const { chatWebMs: maxMs, chatWebTokens } = this.config;
    const left = contextLength - Math.ceil(promptBytes(payload) / 2);
    const maxBytes = Math.min(chatWebTokens * bytesPerToken, Math.floor(contextLength / 2), left);
    const { accountId } = callerOf(opened.http.request);
    const decide = (signal: AbortSignal) => this.decision.decide(latestUserText(messages), opened, signal);
    const score: ScorePassages = (passages, signal) =>
      this.scores.of(latestUserText(messages), passages, { opened, signal });
    return new ChatWebPlan(this.lookup, {
      request,
      score,
      accountId,
      decide,
      cites: parameters.enable_web_citations,
      xProvider: opened.manifest.xSearchProvider,
      maxBytes,
      maxMs,
    });
  }
}
