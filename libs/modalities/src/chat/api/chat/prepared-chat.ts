import type { LimitedModelRequest, ModelRequest, SpecPreparation } from '#gateway';
import { type ChatJobPayload, chatJob } from '../../contract/chat.job.js';
import type { ChatMessage } from '../../contract/chat.message.js';
import { minChatNano } from '../../contract/chat.meter.js';
import type { CheckedChat } from '../job/checked-chat.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import type { PromptSource, PromptSources } from '../job/prompt-source.js';
import type { StartedChat } from '../job/started-chat.js';
import type { WebObserver } from '../job/web-source.js';
import { chatDemand } from './chat.demand.js';

/** A checked chat with everything that adds to its prompt. `ChatStarter` calls its stages in their order. */
export class PreparedChat {
  /** The chat with the longest prompt that it may get. */
  longest: NormalizedChat;

  /**
   * Throws `TOO_MANY_TOKENS` for a prompt that may become too long. `messages` have their images stored, and texts in
   * place of their files.
   */
  constructor(
    private readonly opened: ModelRequest,
    private readonly checked: CheckedChat,
    private messages: ChatMessage[],
    private readonly sources: PromptSources,
  ) {
    this.longest = this.withUse(sources.bound(messages));
  }

  /** Screens the texts before another model reads a part, which is charged; then applies the limits of the model. */
  async limit(): Promise<LimitedModelRequest> {
    const { modality } = chatJob;
    if (this.sources.haveJobs) await this.opened.screen({ modality, payload: this.checked.chat.payload });
    return await this.opened.limit({ tokens: chatDemand(this.longest, this.checked.model) });
  }

  /** Runs the sources with jobs of their own, which are charged. */
  async findSources({ price: { pricing } }: LimitedModelRequest): Promise<void> {
    if (!this.sources.haveJobs) return;
    const model = { ...this.checked.model, pricing };
    const minNano = (messages: ChatMessage[]) => minChatNano(this.withUse(messages).payload, model);
    await this.sources.limit();
    this.messages = await this.sources.runJobs(this.messages, { minNano, signal: this.opened.http.disconnected });
    this.longest = this.withUse(this.sources.bound(this.messages));
  }

  /** The job without what the web adds to it. */
  get payload(): ChatJobPayload {
    return this.checked.with(this.messages).payload;
  }

  /** Whether something is looked up in the web. */
  get looksUp(): boolean {
    return this.sources.lookup !== undefined;
  }

  /** What is looked up between the admission of the job and its queue; undefined: nothing. */
  preparation(observer?: WebObserver): SpecPreparation<ChatJobPayload> | undefined {
    const { lookup } = this.sources;
    return lookup && preparationOf(lookup, { checked: this.checked, messages: this.messages, observer });
  }

  /** The started chat as its response shows it. */
  present(job: StartedChat['job']): StartedChat {
    return this.sources.present({ chat: this.longest, job });
  }

  private withUse(messages: ChatMessage[]): NormalizedChat {
    const chat = this.checked.with(messages);
    return { ...chat, payload: { ...chat.payload, ...this.sources.use } };
  }
}

/** Completes the payload of an admitted job with what a source finds, and with what that costs. */
export function preparationOf(
  source: PromptSource,
  { checked, messages, observer }: { checked: CheckedChat; messages: ChatMessage[]; observer?: WebObserver },
): SpecPreparation<ChatJobPayload> {
  const complete = async (admitted: ChatJobPayload, signal: AbortSignal): Promise<ChatJobPayload> => {
    const found = await source.run(messages, { reservedNano: 0n, signal, observer });
    const { webSearches: _searches, webSearchNano: _price, webPages: _pages, ...withoutUse } = admitted;
    return { ...withoutUse, messages: checked.with(found).payload.messages, ...source.use };
  };
  return { maxMs: source.afterAdmissionMs ?? 0, complete };
}
