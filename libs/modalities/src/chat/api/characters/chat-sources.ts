import { Injectable } from '@nestjs/common';
import { type Character, CharacterDocuments } from '#characters';
import type { NanoUsd } from '#common';
import { type ModelRequest, RequestPipeline } from '#gateway';
import { type InputWork, TextEmbedder } from '#gateway/inputs';
import { ApiConfig } from '#platform/config';
import type { ChatMessage } from '../../contract/chat.message.js';
import type { ChatSearchCitation } from '../../contract/chat.response.js';
import type { PromptSource, SourceRun } from '../job/prompt-source.js';
import type { StartedChat } from '../job/started-chat.js';
import { beforeQuestion, citationsOf, longestSources, questionOf, sourcesText } from './source-texts.js';

const maxPassages = 4;
/** Of the model's context, in tokens, for one passage more. */
const contextPerPassage = 512;
/** Passages below this cosine have nothing to do with the question. */
const minSimilarity = 0.2;
/** Number of the embedding among the input jobs of its request; input adapters count from 1. */
const questionPosition = 0;

/** Finds passages for the questions of characters with documents. The vector of a question is a job of its own. */
@Injectable()
export class ChatSources {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly embedder: TextEmbedder,
    private readonly documents: CharacterDocuments,
    private readonly config: ApiConfig,
  ) {}

  /**
   * Null without documents or a question. Nothing runs, and nothing is charged. Rejects with `MODEL_OFFLINE` while no
   * worker serves the model of the documents.
   */
  async prepare(
    opened: ModelRequest,
    character: Character | undefined,
    messages: readonly ChatMessage[],
  ): Promise<RequestSources | null> {
    const text = questionOf(messages);
    if (character === undefined || character.documentsModel === null || text === '') return null;
    const param = 'service_parameters.character_slug';
    const input = { id: character.documentsModel, type: 'embedding', param, position: questionPosition } as const;
    const model = await this.pipeline.openInput(opened.http, input);
    const work = await this.embedder.prepare(model, { text, param, deadlineMs: this.config.chatDeadlineMs });
    const fitting = Math.floor((opened.manifest.contextLength ?? 0) / contextPerPassage);
    const count = Math.max(1, Math.min(maxPassages, fitting));
    return new RequestSources(character, work, { count, documents: this.documents });
  }
}

/** The passages for one question. */
export class RequestSources implements PromptSource {
  readonly afterAdmissionMs = null;
  readonly use = {};
  private citations: ChatSearchCitation[] = [];

  constructor(
    private readonly character: Pick<Character, 'id' | 'slug'>,
    private readonly work: InputWork<number[]>,
    private readonly search: { count: number; documents: Pick<CharacterDocuments, 'search'> },
  ) {}

  /** Worst-case price of the question's vector. */
  get amountNano(): NanoUsd {
    return this.work.amountNano;
  }

  bound(messages: ChatMessage[]): ChatMessage[] {
    return beforeQuestion(messages, longestSources(this.search.count));
  }

  /** Applies the limits of the embedding model. Rejects as `ModelRequest.limit` does. */
  limit(): Promise<void> {
    return this.work.limit();
  }

  /** Embeds the question, which is charged, and finds the passages. Rejects as `InputWork.run` does. */
  async run(messages: ChatMessage[], { reservedNano }: Pick<SourceRun, 'reservedNano'>): Promise<ChatMessage[]> {
    const vector = await this.work.run(reservedNano);
    const { id, slug } = this.character;
    const closest = await this.search.documents.search(id, vector, this.search.count);
    const passages = closest.filter(({ similarity }) => similarity >= minSimilarity);
    if (passages.length === 0) return messages;
    this.citations = citationsOf(slug, passages);
    return beforeQuestion(messages, sourcesText(passages));
  }

  /** The response names the passages that the prompt holds. */
  present({ chat, ...started }: StartedChat): StartedChat {
    if (this.citations.length === 0) return { ...started, chat };
    return { ...started, chat: { ...chat, parameters: { ...chat.parameters, web_search_citations: this.citations } } };
  }
}
