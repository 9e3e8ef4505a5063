import { noTokens, PlatformError } from '#common';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import { buildTokenTrie } from '../constraints/token-trie.js';
import type { OutputConstraint } from '../contract/output-constraint.js';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import type { TokenScore } from '../sampling/token-score.js';
import { commonPrefix, minimumReuse } from '../scheduler/prefix-store.js';
import type { SequenceEnd, SequenceRequest } from '../scheduler/sequence.js';
import type { SequenceScheduler } from '../scheduler/sequence-scheduler.js';
import {
  type ChatTemplate,
  type GenerationConfig,
  mergeSampling,
  platformText,
  StopMatcher,
  textToCache,
  type TextTokenizer,
} from '../text/index.js';
import { CallBudget } from './call-budget.js';
import { type ChoiceDelta, ChoiceWriter } from './choice-writer.js';
import type { ActiveRequest, PreparedPrompt } from './active-request.js';
import { asRunFailure } from './device-failure.js';
import { EventPublisher } from './event-publisher.js';
import type { ImageReader, PlacedImages } from './image-reader.js';
import { PromptEncoder } from './prompt-encoder.js';
import { PromptScorer } from './prompt-scorer.js';
import { encodeTruncated } from './prompt-truncation.js';
import { ReasoningControl } from './reasoning-control.js';
import { checkBiases } from './token-checks.js';
import { ToolControl } from './tool-control.js';
import { callableTools } from '../tools/tool-style.js';
import {
  type PromptScores,
  type SamplingOptions,
  type TextEngineStats,
  type TextGenerationEngine,
  type TextGenerationEvent,
  type TextGenerationRequest,
  type TextGenerationSink,
} from '../contract/text-generation.js';

/** Text processing of a model: everything between characters and token ids. */
export interface TextSide {
  tokenizer: TextTokenizer;
  /** Null if the model only continues text and has no conversations. */
  template: ChatTemplate | null;
  generation: GenerationConfig;
  /** Absent: the model sees no images. */
  images?: ImageReader;
  /** How it marks its reasoning; absent: as its template says. Null: it does not reason. */
  reasoning?: ReasoningFormat | null;
  /** How it writes tool calls; absent: as its template says. */
  toolStyle?: string;
}

export interface SchedulerTextEngineOptions {
  text: TextSide;
  /** Maximum length of prompt plus output, in tokens. */
  contextLength: number;
  /** Numbers of the loaded adapters in the graph, by model id; absent: none. */
  adapters?: ReadonlyMap<string, number>;
  /** Creates the scheduler; it must call `afterStep` once after the listeners of each step. */
  createScheduler: (afterStep: () => void) => SequenceScheduler;
  sink: TextGenerationSink;
  /** Maximum delay in ms to join text; default of `EventPublisher`. */
  gatherMs?: number;
}

/**
 * Generates text with a `SequenceScheduler`: conversations in, text events out, at most one batch of events per step.
 */
export class SchedulerTextEngine implements TextGenerationEngine {
  private readonly scheduler: SequenceScheduler;
  private readonly active = new Map<string, ActiveRequest>();
  private readonly publisher: EventPublisher;
  /** Requests whose images are being read or whose constraint is being compiled. */
  private readonly compiling = new Map<string, Promise<void>>();
  /** Null where the tokenizer's tokens have no bytes of their own. */
  private readonly constraints: ConstraintCompiler | null;
  /** Null for a model that does not reason. */
  private readonly reasoning: ReasoningControl | null;
  private readonly tools: ToolControl;
  private readonly encoder: PromptEncoder;

  constructor(private readonly options: SchedulerTextEngineOptions) {
    this.publisher = new EventPublisher(options);
    const { tokenizer, generation, template, reasoning = template?.reasoning ?? null } = options.text;
    const { tokenBytes } = tokenizer;
    this.reasoning = reasoning && new ReasoningControl(reasoning, options.text);
    this.constraints = tokenBytes && new ConstraintCompiler(buildTokenTrie(tokenBytes, generation.eosTokenIds));
    this.tools = new ToolControl(options.text.template, options.text.toolStyle, {
      hasParts: options.text.images !== undefined,
      control: tokenizer.control,
      reasoning,
    });
    const { contextLength } = options;
    this.encoder = new PromptEncoder({ ...options.text, reasoning: this.reasoning?.format ?? null, contextLength });
    this.scheduler = options.createScheduler(() => this.publisher.stepped());
  }

  submit(given: TextGenerationRequest): void {
    const { id } = given;
    if (this.active.has(id) || this.compiling.has(id)) {
      return this.refuse(id, new PlatformError('INVALID_REQUEST', 'A request with this id is running.'));
    }
    try {
      const { request, prompt } = this.prepare(this.tools.apply(given));
      if (request.countsOnly === true) this.reportCount(request, prompt);
      else if (prompt.images === null) this.begin(request, prompt);
      else this.beginWithImages(request, prompt, prompt.images);
    } catch (error) {
      this.forget(id);
      this.refuse(id, error);
    }
  }

  cancel(id: string): void {
    if (this.compiling.delete(id)) {
      const finished = { type: 'finished', cancelled: true, usage: { ...noTokens } } as const;
      queueMicrotask(() => this.options.sink([[id, finished]]));
    }
    const active = this.active.get(id);
    if (active === undefined) return;
    active.cancelled = true;
    for (const sequenceId of active.sequenceIds) this.scheduler.cancel(sequenceId);
  }

  stats(): TextEngineStats {
    return this.scheduler.stats();
  }

  async close(): Promise<void> {
    await this.prepared();
    await this.scheduler.close();
    await this.options.text.images?.close();
    this.publisher.stepped();
  }

  /** Resolves when no request is being prepared; one preparation may follow another. */
  private async prepared(): Promise<void> {
    while (this.compiling.size > 0) await Promise.all(this.compiling.values());
  }

  private prepare(given: TextGenerationRequest): { request: TextGenerationRequest; prompt: PreparedPrompt } {
    const { contextLength } = this.options;
    const adapter = this.adapterOf(given);
    checkBiases(this.options.text.tokenizer, given.sampling);
    const { request, encoded } = encodeTruncated(this.encoder, given, contextLength);
    const { built, promptIds, placeImages } = encoded;
    const isBare = built.kind === 'continuation';
    const maxOutput = contextLength - promptIds.length;
    const prompt = {
      built,
      promptIds,
      tokensToCache: this.tokensToCache(request, promptIds, isBare),
      scope: { label: request.cacheScope, sharedTokens: isBare ? 0 : this.sharedTokens(request, promptIds) },
      adapter,
      constraint: null,
      images: placeImages(promptIds),
      media: null,
      reasoning: this.reasoning?.planFor(request, built) ?? null,
      maxNewTokens: Math.min(request.maxTokens ?? maxOutput, maxOutput),
    };
    return { request, prompt };
  }

  /** Tells the length of a prompt that is not computed, but never inside `submit`, because no step will send it. */
  private reportCount({ id }: TextGenerationRequest, { promptIds }: PreparedPrompt): void {
    const usage = { ...noTokens };
    const ready = { type: 'prompt-ready', promptTokens: promptIds.length, cachedTokens: 0 } as const;
    queueMicrotask(() =>
      this.options.sink([
        [id, ready],
        [id, { type: 'finished', cancelled: false, usage }],
      ]),
    );
  }

  private adapterOf({ adapter }: TextGenerationRequest): number {
    if (adapter === undefined) return 0;
    const found = this.options.adapters?.get(adapter);
    if (found !== undefined) return found;
    throw new PlatformError('MODEL_OFFLINE', `The adapter ${adapter} is not loaded.`);
  }

  /** Returns how many leading tokens of a prompt its part to cache has; 0 for a part too short to be copied. */
  private tokensToCache({ prompt }: TextGenerationRequest, promptIds: Int32Array, isBare: boolean): number {
    const { template, tokenizer, images } = this.options.text;
    const text = textToCache(prompt, template, { hasParts: images !== undefined });
    if (text === '') return 0;
    const ids = tokenizer.encodeWithin(text, promptIds.length) ?? [];
    const length = commonPrefix(isBare ? tokenizer.withBos(ids) : Int32Array.from(ids), promptIds, promptIds.length);
    return length < minimumReuse ? 0 : length;
  }

  /** Returns how many leading tokens of a prompt are what the platform's own text alone is encoded to. */
  private sharedTokens(request: TextGenerationRequest, promptIds: Int32Array): number {
    const { template, tokenizer, images } = this.options.text;
    if (template === null || request.cacheScope === undefined) return 0;
    const text = platformText(request, template, { hasParts: images !== undefined });
    const ids = Int32Array.from(tokenizer.encodeWithin(text, promptIds.length) ?? []);
    return commonPrefix(ids, promptIds, promptIds.length);
  }

  private begin(request: TextGenerationRequest, prompt: PreparedPrompt): void {
    if (request.constraint !== undefined) return this.startConstrained(request, prompt, request.constraint);
    queueMicrotask(() => this.reportConstraint(request));
    this.start(request, prompt);
  }

  private reportConstraint({ id, reportsConstraint = false }: TextGenerationRequest): void {
    if (reportsConstraint) this.options.sink([[id, { type: 'constraint-ready' }]]);
  }

  /** The batch goes on while the images are read; the request joins it behind that. */
  private beginWithImages(request: TextGenerationRequest, prompt: PreparedPrompt, images: PlacedImages): void {
    const isWanted = (): boolean => this.compiling.get(request.id) === done;
    const done: Promise<void> = Promise.resolve()
      .then(() => images.read(isWanted))
      .then(
        (media) => () => this.begin(request, { ...prompt, media }),
        (error: unknown) => () => this.refuse(request.id, asRunFailure(error)),
      )
      .then((goOn) => this.goOn(request.id, done, goOn));
    this.compiling.set(request.id, done);
  }

  private goOn(id: string, done: Promise<void>, goOn: () => void): void {
    // Cancelled meanwhile, and told so.
    if (this.compiling.get(id) !== done) return;
    this.compiling.delete(id);
    try {
      goOn();
    } catch (error) {
      this.forget(id);
      this.refuse(id, error);
    }
  }

  /** The batch goes on while the constraint is compiled; the request joins it behind that. */
  private startConstrained(request: TextGenerationRequest, prompt: PreparedPrompt, constraint: OutputConstraint): void {
    if (this.constraints === null) {
      throw new PlatformError('INVALID_REQUEST', 'This model does not support structured output.', constraint.param);
    }
    const compiled = this.constraints.compile(constraint, request.caller).then(
      (made) => () => {
        this.reportConstraint(request);
        this.start(request, { ...prompt, constraint: made });
      },
      (error: unknown) => () => this.refuse(request.id, error),
    );
    const done: Promise<void> = compiled.then((goOn) => this.goOn(request.id, done, goOn));
    this.compiling.set(request.id, done);
  }

  private start(request: TextGenerationRequest, prompt: PreparedPrompt): void {
    const indexes = Array.from({ length: request.n }, (_, index) => index);
    const active: ActiveRequest = {
      request,
      opensThinking: prompt.built.opensThinking,
      promptTokens: prompt.promptIds.length,
      relaxed: prompt.constraint?.relaxed ?? [],
      cachedTokens: null,
      tokensToCache: prompt.tokensToCache,
      generatedTokens: 0,
      sequenceIds: indexes.map((index) => `${request.id}/${index}`),
      openChoices: request.n,
      begun: new Set(),
      cancelled: false,
      error: null,
      release: prompt.constraint?.use() ?? (() => undefined),
    };
    this.active.set(request.id, active);
    const sampling = mergeSampling(this.options.text.generation.sampling, request.sampling);
    for (const index of indexes) {
      this.scheduler.submit(this.sequenceOf(active, prompt, { index, sampling: seeded(sampling, index) }));
    }
  }

  private sequenceOf(
    active: ActiveRequest,
    { built, promptIds, scope, adapter, maxNewTokens, constraint, reasoning, media }: PreparedPrompt,
    { index, sampling }: { index: number; sampling: SamplingOptions },
  ): SequenceRequest {
    const { tokenizer, generation } = this.options.text;
    const { request } = active;
    const writer = new ChoiceWriter({
      tokenizer,
      detokenizer: tokenizer.detokenizer({ stripLeadingSpaces: built.kind === 'answer' }),
      stopMatcher: new StopMatcher(request.stop),
      scanner: reasoning && this.reasoning?.scanner(reasoning),
      callBudget: this.callBudgetOf(request, maxNewTokens),
      withLogprobs: request.topLogprobs !== null,
    });
    const scorer = request.scoresPrompt === true ? new PromptScorer(tokenizer, index, promptIds[0] ?? 0) : null;
    return {
      id: active.sequenceIds[index] ?? request.id,
      promptIds,
      scope,
      adapter,
      media,
      mayUseSpareSlot: request.mayUseSpareSlot,
      cacheMs: request.cacheMs,
      sampling,
      maxNewTokens,
      eosTokenIds: generation.eosTokenIds,
      stopTokenIds: new Set(request.stopTokenIds),
      topLogprobs: request.topLogprobs,
      scoresPrompt: scorer !== null,
      constraint: this.constraintOf(request, { constraint, reasoning }),
      listener: {
        onPrompt: (cachedTokens) => {
          this.emitScores(active, scorer?.take());
          this.promptReady(active, cachedTokens);
        },
        onPromptToken: (tokenId, score) => this.emitScores(active, scorer?.push(tokenId, score)),
        onToken: (tokenId, score) => this.onTokenSampled(active, { index, writer, tokenId, score }),
        onEnd: (end) => this.onChoiceEnded(active, { index, writer, end }),
        onFailure: (error) => this.choiceFailed(active, error),
      },
    };
  }

  private callBudgetOf({ tools: use }: TextGenerationRequest, maxTokens: number): CallBudget | null {
    if (use?.isParallel !== true) return null;
    return new CallBudget(maxTokens, { style: this.tools.styleName, tools: callableTools(use) });
  }

  private constraintOf(
    request: TextGenerationRequest,
    { constraint, reasoning }: Pick<PreparedPrompt, 'constraint' | 'reasoning'>,
  ): TokenConstraint | null {
    const endings = this.endingsOf(request);
    if (this.reasoning === null || reasoning === null) return constraint && constraint.newMatcher(endings);
    return this.reasoning.constraint(reasoning, constraint, endings);
  }

  /** Special tokens at which the caller wants to stop end a text as EOS does; those with a text are part of it. */
  private endingsOf({ stopTokenIds }: TextGenerationRequest): number[] {
    const { tokenizer, generation } = this.options.text;
    const bare = stopTokenIds.filter((id) => (tokenizer.tokenBytes?.[id]?.length ?? 0) === 0);
    return [...new Set([...generation.eosTokenIds, ...bare])];
  }

  private promptReady(active: ActiveRequest, cachedTokens: number): void {
    // Later choices reuse the first choice's prompt; only the first reports it.
    if (active.cachedTokens !== null) return;
    active.cachedTokens = cachedTokens;
    const { promptTokens, opensThinking, relaxed, request } = active;
    const { prompt } = request;
    const reasoning = this.reasoning?.format;
    this.emit(active, {
      type: 'prompt-ready',
      promptTokens,
      cachedTokens,
      ...(opensThinking ? { opensThinking } : {}),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(request.tools === undefined ? {} : { toolStyle: this.tools.styleName }),
      ...(relaxed.length === 0 ? {} : { relaxed }),
      ...('tokenIds' in prompt && prompt.reportsText === true ? { promptText: this.textOf(prompt.tokenIds) } : {}),
    });
  }

  private textOf(tokenIds: readonly number[]): string {
    return this.options.text.tokenizer.decode(tokenIds, { stripLeadingSpaces: true });
  }

  private onTokenSampled(
    active: ActiveRequest,
    {
      index,
      writer,
      tokenId,
      score,
    }: { index: number; writer: ChoiceWriter; tokenId: number; score: TokenScore | null },
  ): 'continue' | 'stop' {
    active.generatedTokens++;
    const { delta, stopped } = writer.push(tokenId, score);
    if (delta !== null) this.emitText(active, index, delta);
    return stopped ? 'stop' : 'continue';
  }

  private onChoiceEnded(
    active: ActiveRequest,
    { index, writer, end }: { index: number; writer: ChoiceWriter; end: SequenceEnd },
  ): void {
    const rest = writer.finish({ isCut: end !== 'eos' });
    if (rest !== null) this.emitText(active, index, rest);
    if (end === 'cancelled') active.cancelled = true;
    else {
      const finishReason = end === 'length' ? 'length' : 'stop';
      const { stopString } = writer;
      this.emit(active, { type: 'choice-finished', index, finishReason, ...(stopString !== null && { stopString }) });
    }
    this.closeChoice(active);
  }

  /** Fails the request when one choice fails: cancels the others and reports the failure after they ended. */
  private choiceFailed(active: ActiveRequest, error: unknown): void {
    active.error ??= error ?? new PlatformError('INFERENCE_FAILED', 'The model failed on this request.');
    for (const sequenceId of active.sequenceIds) this.scheduler.cancel(sequenceId);
    this.closeChoice(active);
  }

  private closeChoice(active: ActiveRequest): void {
    active.openChoices--;
    if (active.openChoices > 0) return;
    this.forget(active.request.id);
    const { cachedTokens, tokensToCache } = active;
    const cacheWriteTokens = cachedTokens === null ? 0 : Math.max(0, tokensToCache - cachedTokens);
    const usage = {
      // A prompt cancelled before it was computed is not charged.
      promptTokens: cachedTokens === null ? 0 : active.promptTokens,
      cachedTokens: cachedTokens ?? 0,
      ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
      completionTokens: active.generatedTokens,
      reasoningTokens: 0,
    };
    if (active.error === null) return this.emit(active, { type: 'finished', cancelled: active.cancelled, usage });
    const error = asRunFailure(active.error).toWire();
    this.emit(active, { type: 'failed', error, usage: active.generatedTokens > 0 ? usage : null });
  }

  private forget(id: string): void {
    this.active.get(id)?.release();
    this.active.delete(id);
  }

  private emit(active: ActiveRequest, event: TextGenerationEvent): void {
    this.publisher.add(active.request.id, event);
  }

  private emitScores(active: ActiveRequest, scores: PromptScores | null | undefined): void {
    if (scores) this.emit(active, scores);
  }

  private emitText({ request, sequenceIds, begun }: ActiveRequest, index: number, delta: ChoiceDelta): void {
    const isFirst = !begun.has(index);
    if (isFirst) begun.add(index);
    const event = { type: 'text-delta', index, ...delta } as const;
    this.publisher.addText(sequenceIds[index] ?? request.id, request.id, event, isFirst);
  }

  /** Delivers a rejection immediately, but never inside `submit`, because no step will send it. */
  private refuse(id: string, error: unknown): void {
    const failed = {
      type: 'failed',
      error: PlatformError.from(error, 'INFERENCE_FAILED').toWire(),
      usage: null,
    } as const;
    queueMicrotask(() => this.options.sink([[id, failed]]));
  }
}

/** Derives the seed of each choice: the seed plus its index. */
function seeded(sampling: SamplingOptions, index: number): SamplingOptions {
  if (sampling.seed === undefined) return sampling;
  const seed = sampling.seed + index;
  // Beyond 2^53, adding one changes nothing, and all choices would be equal.
  return { ...sampling, seed: Number.isSafeInteger(seed) ? seed : (sampling.seed % 2 ** 52) + index };
}
