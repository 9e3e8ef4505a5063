import { setImmediate } from 'node:timers/promises';
import { PlatformError, Histogram } from '#common';
import { stepBounds } from '../contract/engine-stats.js';
import type { TextEngineStats } from '../contract/text-generation.js';
import type { LogitsBatch } from '../sampling/logits-batch.js';
import { undecided } from '../sampling/narrow-draw.js';
import { scoreGivenToken, type TokenScore } from '../sampling/token-score.js';
import type { CacheRow, DecodePart, Decoder } from './decoder.js';
import { MaskAllowance } from './mask-allowance.js';
import { defaultChunkTokens } from './open-decoder.js';
import { PrefillPlanner, waitsForOlder } from './prefill-planner.js';
import { wholeMediaStart } from './prompt-media.js';
import {
  type FoundPrefix,
  type CachedPrefix,
  longestPrefix,
  minimumReuse,
  PrefixStore,
  type ReuseRule,
} from './prefix-store.js';
import { RunningSequence } from './running-sequence.js';
import type { SchedulerOptions, SequenceScheduler } from './sequence-scheduler.js';
import type { SequenceEnd, SequenceRequest } from './sequence.js';
import { behindDraft, type Choice, choose, logitsNeeded, scoreOf } from './token-choice.js';

/** Maximum number of rows with drafts: with more, their own tokens keep the processor as busy. */
const maxDraftRows = 2;

/**
 * Continuous batching. Every step ends cancelled sequences and admits those that fit, in order of arrival (those that
 * may use a spare slot first) and without preemption. It then computes one chunk of one prompt and one token for every decoding row, and calls the listeners
 * after each of the two. Between two runs of the session the event loop runs, so submits and cancels take effect in the
 * next step.
 */
export class BatchScheduler implements SequenceScheduler {
  private readonly decoder: Decoder;
  private readonly chunkTokens: number;
  private readonly planner: PrefillPlanner;
  private readonly prefixes: PrefixStore;
  private readonly known = new Map<string, RunningSequence>();
  private readonly rejected: { request: SequenceRequest; error: PlatformError }[] = [];
  private waiting: RunningSequence[] = [];
  private prefilling: RunningSequence[] = [];
  private decoding: RunningSequence[] = [];
  private readonly maskTime = new MaskAllowance();
  private isClosing = false;
  private isClosed = false;
  private wake: (() => void) | null = null;
  private readonly finished: Promise<void>;
  private readonly stepSeconds = new Histogram(stepBounds);
  private readonly totals = { prompt: 0, cached: 0, generated: 0, drafted: 0, accepted: 0, steps: 0 };

  constructor(private readonly options: SchedulerOptions) {
    this.decoder = options.decoder;
    this.chunkTokens = options.chunkTokens ?? defaultChunkTokens;
    this.planner = new PrefillPlanner(this.chunkTokens, this.decoder.maxPrefillRows);
    this.prefixes = new PrefixStore(this.decoder);
    this.finished = this.loop();
  }

  submit(request: SequenceRequest): void {
    const error = this.reasonToRefuse(request);
    if (error) {
      this.rejected.push({ request, error });
      // No step will report it.
      if (this.isClosed) queueMicrotask(() => this.reportRejected());
    } else {
      const sequence = new RunningSequence(request);
      this.known.set(request.id, sequence);
      this.waiting.push(sequence);
    }
    this.wake?.();
  }

  cancel(id: string): void {
    const sequence = this.known.get(id);
    if (!sequence) return;
    sequence.isCancelled = true;
    this.wake?.();
  }

  stats(): TextEngineStats {
    const live = [...this.prefilling, ...this.decoding];
    const held = live.reduce((sum, sequence) => sum + (sequence.row?.length ?? 0), 0);
    return {
      slots: this.options.slots,
      running: live.length,
      waiting: this.waiting.length,
      cacheTokens: held + this.prefixes.tokens,
      cacheCapacityTokens: this.options.cacheTokens,
      promptTokensTotal: this.totals.prompt,
      cachedTokensTotal: this.totals.cached,
      generatedTokensTotal: this.totals.generated,
      draftTokensTotal: this.totals.drafted,
      acceptedDraftTokensTotal: this.totals.accepted,
      stepsTotal: this.totals.steps,
      runMsTotal: this.decoder.runMs,
      stepSeconds: this.stepSeconds.read(),
    };
  }

  async close(): Promise<void> {
    this.isClosing = true;
    this.wake?.();
    await this.finished;
  }

  private reasonToRefuse(request: SequenceRequest): PlatformError | null {
    const { promptIds, maxNewTokens, id } = request;
    const { contextLength, cacheTokens } = this.options;
    if (this.isClosing) return new PlatformError('MODEL_OFFLINE', 'The model is being unloaded.');
    if (this.known.has(id)) return new PlatformError('INVALID_REQUEST', 'A sequence with this id is running.');
    if (promptIds.length < 1) return new PlatformError('INVALID_REQUEST', 'The prompt contains no token.');
    const total = promptIds.length + maxNewTokens;
    if (total > contextLength || promptIds.length + Math.max(0, maxNewTokens - 1) > cacheTokens) {
      const max = Math.min(contextLength, cacheTokens + 1);
      const limit = `This model's maximum context length is ${max} tokens.`;
      return new PlatformError('TOO_MANY_TOKENS', `${limit} However, prompt and output are ${total} tokens.`);
    }
    return null;
  }

  private async loop(): Promise<void> {
    for (;;) {
      if (!this.isClosing && !this.hasWork()) await new Promise<void>((resolve) => (this.wake = resolve));
      this.wake = null;
      if (this.isClosing) break;
      await this.step();
    }
    for (const sequence of [...this.known.values()]) {
      this.fail(sequence, new PlatformError('MODEL_OFFLINE', 'The model is being unloaded.'));
    }
    this.isClosed = true;
    this.reportRejected();
    this.prefixes.shrinkTo(0);
    await this.decoder.close();
  }

  private hasWork(): boolean {
    return this.known.size > 0 || this.rejected.length > 0;
  }

  private async step(): Promise<void> {
    this.maskTime.renew();
    this.reportRejections();
    for (const sequence of [...this.known.values()]) if (sequence.isCancelled) this.end(sequence, 'cancelled');
    this.admit();
    const msBefore = this.decoder.runMs;
    const promptsBefore = this.totals.prompt;
    if (this.prefilling.length > 0) await this.prefillStep();
    // A first token must not wait for the second one, nor for those of others.
    if (this.totals.prompt > promptsBefore && this.decoding.length > 0) this.options.afterStep?.();
    this.settleRows();
    await this.decodeStep();
    if (this.decoder.runMs > msBefore) this.stepSeconds.add((this.decoder.runMs - msBefore) / 1_000);
    this.totals.steps++;
    this.options.afterStep?.();
  }

  private reportRejections(): void {
    for (const { request, error } of this.rejected.splice(0)) request.listener.onFailure(error);
  }

  private reportRejected(): void {
    this.reportRejections();
    this.options.afterStep?.();
  }

  private admit(): void {
    let reserved = this.reservedTokens();
    for (let next = this.nextWaiting(); next; next = this.nextWaiting()) {
      reserved += next.reservedTokens;
      if (this.prefilling.length + this.decoding.length >= this.slotsFor(next)) return;
      if (reserved > this.options.cacheTokens) return;
      const found = this.findPrefix(next);
      if (found) this.prefixes.touch(found.entry);
      this.prefixes.shrinkTo(this.options.cacheTokens - reserved);
      if (!this.open(next)) {
        reserved -= next.reservedTokens;
        continue;
      }
      this.prefilling.push(next);
      this.waiting.splice(this.waiting.indexOf(next), 1);
    }
  }

  private nextWaiting(): RunningSequence | undefined {
    return this.waiting.find(({ request }) => request.mayUseSpareSlot) ?? this.waiting[0];
  }

  private slotsFor({ request }: RunningSequence): number {
    const { slots, spareSlots = 0 } = this.options;
    return request.mayUseSpareSlot ? slots + spareSlots : slots;
  }

  /** Returns false if there is no memory for a row, which fails only this sequence. */
  private open(sequence: RunningSequence): boolean {
    try {
      sequence.row = this.decoder.openRow(sequence.request.adapter);
      return true;
    } catch (error) {
      this.fail(sequence, error);
      return false;
    }
  }

  private async prefillStep(): Promise<void> {
    this.startPrompts();
    const chosen = this.planner.choose(this.prefilling.filter((sequence) => sequence.hasStarted));
    if (chosen.length === 0) return;
    const parts = chosen.flatMap((sequence) => {
      const { promptIds, media } = sequence.request;
      const take = sequence.nextPiece(this.chunkTokens, this.decoder);
      const tokenIds = promptIds.subarray(sequence.prefilled, sequence.prefilled + take);
      return sequence.row ? [{ row: sequence.row, tokenIds, media, final: take === sequence.remainingPrompt }] : [];
    });
    try {
      // A prompt needs few logits, and repeating its chunk would cost most.
      const msBefore = this.decoder.runMs;
      const batch = await this.decoder.prefill(parts, parts.some((part) => part.final) ? 'full' : 'none');
      const longest = Math.max(...parts.map(({ tokenIds }) => tokenIds.length));
      this.planner.observe(parts.length * longest, this.decoder.runMs - msBefore);
      chosen.forEach((sequence, index) => {
        sequence.computed(parts[index]?.tokenIds.length ?? 0, this.chunkTokens);
        if (sequence.remainingPrompt === 0) this.finishPrompt(sequence, batch, index);
      });
    } catch (error) {
      for (const sequence of chosen) this.fail(sequence, error);
    }
  }

  /** Copies known prefixes into new prompts, except those that should wait for a longer one. */
  private startPrompts(): void {
    // Iterates over a copy, because a failed sequence is removed from the list.
    [...this.prefilling].forEach((sequence, index, all) => {
      if (sequence.hasStarted) return;
      const found = this.findPrefix(sequence);
      if (waitsForOlder(sequence, all.slice(0, index), this.ruleFor(sequence), found?.length ?? 0)) return;
      sequence.hasStarted = true;
      if (found) this.reuse(sequence, found);
    });
  }

  private reuse(sequence: RunningSequence, { entry, length }: FoundPrefix): void {
    if (!sequence.row) return;
    try {
      this.decoder.copyPrefix({ from: entry.row, to: sequence.row, length });
    } catch (error) {
      // Without memory for a part of the prompt, there is none for all of it.
      return this.fail(sequence, error);
    }
    this.prefixes.touch(entry);
    sequence.copied(length, entry, this.chunkTokens);
  }

  /** Goes on with the rows that sat out the last step. */
  private settleRows(): void {
    const settling = this.decoding.filter(({ isSettling }) => isSettling);
    for (const sequence of settling) {
      this.settle(sequence);
      this.jumpForward(sequence);
    }
    // The first one has had its slice, whoever else has.
    const [served] = settling;
    if (served?.isSettling) this.decoding = [...this.decoding.filter((other) => other !== served), served];
  }

  private async decodeStep(): Promise<void> {
    for (const sequence of [...this.decoding]) if (!sequence.isSettling) await this.computeForced(sequence);
    const rows = [...this.decoding];
    if (rows.every(({ isSettling }) => isSettling)) {
      // Nothing else lets the event loop turn.
      if (rows.length > 0) await setImmediate();
      return;
    }
    const drafts = this.draftsOf(rows);
    const parts = rows.flatMap((sequence, index) => {
      return sequence.row ? [this.partOf(sequence, sequence.row, drafts[index])] : [];
    });
    // The others have tokens left that no logits decide.
    const isSampled = rows.map(({ isSettling, pendingTokens }) => !isSettling && pendingTokens.length === 1);
    try {
      const sampled = rows.filter((_, index) => isSampled[index]);
      const needed = logitsNeeded(this.decoder, sampled, drafts);
      let batch = await this.decoder.decode(parts, needed);
      let choices = rows.map((sequence, index) => (isSampled[index] ? choose(sequence, batch, index) : null));
      if (choices.includes(undecided)) {
        const all = await this.decoder.repeatForLogits();
        choices = choices.map((choice, index) => {
          const sequence = rows[index];
          return choice === undecided && sequence ? choose(sequence, all, index) : choice;
        });
        batch = all;
      }
      rows.forEach((sequence, index) => {
        const choice = choices[index];
        if (choice !== null) this.accept(sequence, choice, batch, index);
        const draft = drafts[index];
        if (draft !== undefined) this.followDraft(sequence, draft, { batch, index });
      });
    } catch (error) {
      for (const sequence of rows) this.fail(sequence, error);
    }
  }

  /** Returns the drafts of all rows, or none: a row without one would be computed as widely, for one token. */
  private draftsOf(rows: readonly RunningSequence[]): readonly Int32Array[] {
    const { draftTokens = 0 } = this.options;
    if (this.decoder.takesDrafts !== true || rows.length + this.prefilling.length > maxDraftRows) return [];
    const drafts = rows.map((sequence) => sequence.proposeDraft(draftTokens));
    return drafts.every(({ length }) => length > 0) ? drafts : [];
  }

  /** Takes the tokens of a draft as long as they are those that the sequence draws. */
  private followDraft(sequence: RunningSequence, draft: Int32Array, at: { batch: LogitsBatch; index: number }): void {
    let taken = 0;
    while (taken < draft.length && sequence.pendingTokens[0] === draft[taken]) {
      const { row, isCancelled, isSettling } = sequence;
      if (row === null || isCancelled || isSettling) break;
      const next = behindDraft(at.batch, at.index, taken + 1);
      // Behind a forced token is another, which needs no logits.
      const choice = sequence.pendingTokens.length > 1 ? null : choose(sequence, next, 0);
      if (choice === undecided) break;
      this.decoder.takeDrafted?.(row);
      taken++;
      if (choice !== null) this.accept(sequence, choice, next, 0);
    }
    this.totals.drafted += draft.length;
    this.totals.accepted += taken;
    sequence.lookup.observe(draft.length, taken);
  }

  private partOf(sequence: RunningSequence, row: CacheRow, draft?: Int32Array): DecodePart {
    const { pendingTokens, isSettling: sitsOut } = sequence;
    const wantedIds = sitsOut || pendingTokens.length > 1 ? [] : sequence.wantedIds(this.decoder);
    return { row, tokenId: pendingTokens[0] ?? 0, wantedIds, sitsOut, ...(draft && { draft }) };
  }

  /**
   * Computes all forced tokens but the last in one run, where that is no slower than one in each step: a run costs up to
   * a step, and a step computes one token of every row. A reproducible text is computed token by token, since a run of
   * several rounds differently.
   */
  private async computeForced(sequence: RunningSequence): Promise<void> {
    const { row, pendingTokens, isRepeatable } = sequence;
    const forced = pendingTokens.length - 1;
    if (row === null || forced < 1 || isRepeatable || forced < this.decoding.length) return;
    try {
      await this.decoder.extend(row, pendingTokens.slice(0, forced));
    } catch (error) {
      this.fail(sequence, error);
    }
  }

  private findPrefix(sequence: RunningSequence): FoundPrefix | null {
    if (sequence.request.scoresPrompt === true) return null;
    const live = [...this.decoding, ...this.prefilling].filter((other) => other !== sequence);
    const candidates = [...this.prefixes.list(), ...live.flatMap((other) => other.held() ?? [])];
    const { promptKeys: keys, scope } = sequence;
    return longestPrefix({ keys, scope }, candidates, this.ruleFor(sequence));
  }

  private ruleFor({ isRepeatable, request: { media } }: RunningSequence): ReuseRule {
    const grain = isRepeatable ? this.chunkTokens : this.decoder.prefixGrain;
    if (this.decoder.needsWholeMedia !== true) return { grain, isExact: isRepeatable };
    return { grain, isExact: isRepeatable, align: (length) => wholeMediaStart(media?.spans ?? [], length) };
  }

  private finishPrompt(sequence: RunningSequence, batch: LogitsBatch, index: number): void {
    this.prefilling = this.prefilling.filter((other) => other !== sequence);
    this.decoding.push(sequence);
    this.totals.prompt += sequence.promptLength;
    this.totals.cached += sequence.cachedTokens;
    if (sequence.nextPromptToken === null) this.reportPrompt(sequence);
    if (this.known.get(sequence.request.id) === sequence) {
      this.accept(sequence, choose(sequence, batch, index), batch, index);
    }
  }

  private reportPrompt(sequence: RunningSequence): void {
    const { cachedTokens, request } = sequence;
    if (!sequence.isCancelled) this.notify(sequence, () => request.listener.onPrompt(cachedTokens));
    if (request.maxNewTokens === 0 && !sequence.isCancelled) this.end(sequence, 'length');
  }

  private accept(sequence: RunningSequence, choice: Choice | undefined, batch: LogitsBatch, index: number): void {
    if (typeof choice !== 'number' || choice === undecided) return this.fail(sequence, choice, true);
    if (sequence.isCancelled) return;
    if (sequence.nextPromptToken !== null) return this.pushPrompt(sequence, choice, { batch, index });
    this.push(sequence, choice, () => scoreOf(sequence.request, batch, index, choice));
    this.jumpForward(sequence);
  }

  /** Scores the next token of the prompt and goes on with it. */
  private pushPrompt(sequence: RunningSequence, token: number, at: { batch: LogitsBatch; index: number }): void {
    const { topLogprobs, listener } = sequence.request;
    sequence.pushPrompt();
    this.notify(sequence, () => {
      listener.onPromptToken?.(token, scoreGivenToken(at.batch, at.index, token, topLogprobs ?? 0));
      if (sequence.nextPromptToken === null) this.reportPrompt(sequence);
    });
  }

  /** Takes the tokens that follow without a choice, as many as the constraint leaves no choice for. */
  private jumpForward(sequence: RunningSequence): void {
    if (this.options.jumpsForward === false) return;
    const { topLogprobs } = sequence.request;
    for (let taken = 0; taken < this.chunkTokens; taken++) {
      if (this.known.get(sequence.request.id) !== sequence || sequence.isCancelled || sequence.isSettling) return;
      const token = this.notify(sequence, () => sequence.sampler.takeForced());
      if (token === null) return;
      const top = topLogprobs === null || topLogprobs === 0 ? [] : [{ id: token, logprob: 0 }];
      this.push(sequence, token, () => (topLogprobs === null ? null : { logprob: 0, top }));
    }
  }

  private push(sequence: RunningSequence, token: number, scoreIt: () => TokenScore | null): void {
    const { request } = sequence;
    this.totals.generated++;
    if (request.eosTokenIds.has(token)) return this.end(sequence, 'eos');
    if (request.stopTokenIds.has(token)) return this.end(sequence, 'stop-token');
    const result = this.notify(sequence, () => {
      const score = scoreIt();
      sequence.push(token);
      return request.listener.onToken(token, score);
    });
    if (result === 'stop') this.end(sequence, 'stopped');
    else if (result === 'continue') this.settle(sequence);
  }

  /** Ends a sequence whose text is complete, or as long as it may be, once its constraint knows what may follow. */
  private settle(sequence: RunningSequence): void {
    const isReady = this.notify(sequence, () => this.maskTime.spend((ms) => sequence.prepare(ms)));
    sequence.isSettling = isReady === false;
    if (isReady !== true) return;
    if (this.notify(sequence, () => sequence.isFinished) === true) this.end(sequence, 'eos');
    else if (sequence.generatedCount >= sequence.request.maxNewTokens) this.end(sequence, 'length');
  }

  /** Calls a listener or a constraint; if it throws, only its own sequence ends. */
  private notify<ListenerResult>(sequence: RunningSequence, call: () => ListenerResult): ListenerResult | null {
    try {
      return call();
    } catch (error) {
      this.fail(sequence, error);
      return null;
    }
  }

  private end(sequence: RunningSequence, end: SequenceEnd): void {
    if (!this.forget(sequence)) return;
    const held = sequence.held();
    sequence.row = null;
    if (held) this.keepOrRelease(held, sequence.request.cacheMs ?? 0);
    this.notify(sequence, () => sequence.request.listener.onEnd(end));
  }

  private fail(sequence: RunningSequence, error: unknown, tainted = false): void {
    if (!this.forget(sequence)) return;
    if (sequence.row) this.decoder.release(sequence.row, tainted);
    sequence.row = null;
    sequence.request.listener.onFailure(PlatformError.from(error, 'INFERENCE_FAILED'));
  }

  /** Returns false if the sequence had already ended. */
  private forget(sequence: RunningSequence): boolean {
    if (this.known.get(sequence.request.id) !== sequence) return false;
    this.known.delete(sequence.request.id);
    const isOther = (other: RunningSequence): boolean => other !== sequence;
    this.waiting = this.waiting.filter(isOther);
    this.prefilling = this.prefilling.filter(isOther);
    this.decoding = this.decoding.filter(isOther);
    return true;
  }

  /** Keeps a finished row as a prefix. Its tokens were reserved, so there is room until another sequence needs it. */
  private keepOrRelease({ row, ids, exactLength, scope }: CachedPrefix, cacheMs: number): void {
    if (row.reusableLength < minimumReuse) return this.decoder.release(row);
    const kept = this.retained(row);
    const keepUntilMs = performance.now() + cacheMs;
    if (kept) this.prefixes.add({ ids: ids.slice(), row: kept, exactLength, scope, keepUntilMs });
    else this.decoder.release(row);
  }

  /** Returns null if there is no memory for a copy; the prefix is then recomputed later. */
  private retained(row: CacheRow): CacheRow | null {
    try {
      return this.decoder.retain(row);
    } catch {
      return null;
    }
  }

  private reservedTokens(): number {
    return [...this.prefilling, ...this.decoding].reduce((sum, sequence) => sum + sequence.reservedTokens, 0);
  }
}
