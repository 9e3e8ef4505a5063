import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contextOverflow, PlatformError } from '#common';
import type {
  TextEngineStats,
  GeneratedTokenLogprob,
  TextGenerationEngine,
  TextGenerationEvent,
  TextGenerationRequest,
  TextGenerationSink,
} from '#inference/host';

/*
 * Test double of the text engine: no model, no graph, words drawn from a hash of the prompt. It implements the same
 * contract, so that everything around the engine can be tested fast and deterministically. It is test code only.
 *
 * A directive in the last message controls it, such as `[[tokens=20 delay=5 crash=3]]`:
 *
 * - `tokens=N`: output length in tokens, one word each (default 16)
 * - `delay=MS`: pause between two tokens (default 0)
 * - `think=N`: the first N tokens are in a think block
 * - `cached=N`: prompt tokens reported as found in a cached prefix
 * - `echo`: the output is the message itself, without the directive; `<tool_call>{…}</tool_call>` in it is a call
 * - `crash=N`: the process dies by SIGKILL after N tokens (default 0)
 * - `abort=N`: the same by SIGABRT, like a native library that aborts
 * - `segv=N`: the same by SIGSEGV
 * - `once`: the fault occurs in one process only, and not in the next
 * - `hang=N`: the process stops responding for good after N tokens (default 0)
 * - `work=MS`: the process uses so much processor time without responding, before the first token
 * - `fail=N`: the request fails with INFERENCE_FAILED after N tokens (default 0)
 * - `lose=N`: the device fails after N tokens (default 0), as when its memory is full
 */
export interface Directives {
  tokens?: number;
  delay?: number;
  think?: number;
  cached?: number;
  echo?: number;
  crash?: number;
  abort?: number;
  segv?: number;
  once?: number;
  hang?: number;
  work?: number;
  fail?: number;
  lose?: number;
}

export interface DeterministicEngineOptions {
  slots: number;
  /** As in `SchedulerLimits`. */
  spareSlots?: number;
  contextLength: number;
  sink: TextGenerationSink;
  /** Folder for state shared between processes; required by `once`. */
  notesFolder?: string;
}

interface Choice {
  index: number;
  words: string[];
  finishReason: 'stop' | 'length';
  stopString?: string;
  position: number;
}

interface ActiveRequest {
  request: TextGenerationRequest;
  directives: Directives;
  choices: Choice[];
  promptTokens: number;
  generated: number;
  nextStepAtMs: number;
}

const vocabulary =
  'amber birch cedar delta ember fjord grove heron island juniper kestrel lagoon 水 🌊 maple northern'.split(' ');

/** Words of one choice; the same prompt, seed and index give the same words on every machine. */
export function deterministicWords(promptText: string, { seed = 0, index = 0, count = 16 } = {}): string[] {
  const words: string[] = [];
  for (let position = 0; position < count; position++) {
    const digest = createHash('sha256').update(`${seed}/${index}/${position}/${promptText}`).digest();
    const word = vocabulary[digest.readUInt16BE(0) % vocabulary.length] ?? '';
    words.push(position === 0 ? word : ` ${word}`);
  }
  return words;
}

export function parseDirectives(text: string): Directives {
  const body = /\[\[([^\]]*)\]\]/.exec(text)?.[1] ?? '';
  const entries = body.split(/\s+/).filter((entry) => entry !== '');
  return Object.fromEntries(
    entries.map((entry) => entry.split('=')).map(([name, value]) => [name, Number(value ?? 0)]),
  );
}

const noSchema = new PlatformError('INVALID_REQUEST', 'The deterministic engine keeps to no schema.');

export class DeterministicEngine implements TextGenerationEngine {
  private readonly running = new Map<string, ActiveRequest>();
  private readonly waiting: TextGenerationRequest[] = [];
  private pendingEvents: [string, TextGenerationEvent][] = [];
  private timer: NodeJS.Timeout | null = null;
  private immediate: NodeJS.Immediate | null = null;
  private generatedTotal = 0;
  private promptTotal = 0;
  private steps = 0;

  constructor(private readonly options: DeterministicEngineOptions) {}

  submit(request: TextGenerationRequest): void {
    // Its words fit no schema: a test of those needs the product's engine.
    // What an echo writes is up to the test.
    const isKept = request.constraint === undefined || parseDirectives(lastMessage(request)).echo !== undefined;
    if (isKept) this.waiting.push(request);
    else this.pendingEvents.push([request.id, { type: 'failed', error: noSchema.toWire(), usage: null }]);
    this.schedule(0);
  }

  cancel(id: string): void {
    const place = this.waiting.findIndex((request) => request.id === id);
    if (place >= 0) {
      this.waiting.splice(place, 1);
      const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
      this.pendingEvents.push([id, { type: 'finished', cancelled: true, usage }]);
    }
    const active = this.running.get(id);
    if (active !== undefined) this.finish(active, true);
    this.schedule(0);
  }

  stats(): TextEngineStats {
    return {
      slots: this.options.slots,
      running: this.running.size,
      waiting: this.waiting.length,
      cacheTokens: 0,
      cacheCapacityTokens: this.options.slots * this.options.contextLength,
      promptTokensTotal: this.promptTotal,
      cachedTokensTotal: 0,
      generatedTokensTotal: this.generatedTotal,
      draftTokensTotal: 0,
      acceptedDraftTokensTotal: 0,
      stepsTotal: this.steps,
      runMsTotal: 0,
    };
  }

  async close(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.immediate !== null) clearImmediate(this.immediate);
    const error = { code: 'MODEL_OFFLINE', message: 'The model was unloaded.' } as const;
    const ids = [...this.running.keys(), ...this.waiting.map((request) => request.id)];
    if (ids.length > 0) this.options.sink(ids.map((id) => [id, { type: 'failed', error, usage: null }]));
  }

  private schedule(delayMs: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (delayMs > 0) this.timer = setTimeout(() => this.step(), delayMs);
    else this.immediate ??= setImmediate(() => this.step());
  }

  private step(): void {
    this.immediate = null;
    this.steps++;
    for (let next = this.nextWaiting(); next; next = this.nextWaiting()) {
      const { slots, spareSlots = 0 } = this.options;
      if (this.running.size >= (next.mayUseSpareSlot ? slots + spareSlots : slots)) break;
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.begin(next);
    }
    const now = performance.now();
    for (const active of [...this.running.values()]) if (active.nextStepAtMs <= now) this.advance(active, now);
    const events = this.pendingEvents;
    this.pendingEvents = [];
    if (events.length > 0) this.options.sink(events);
    const next = Math.min(...[...this.running.values()].map((active) => active.nextStepAtMs - performance.now()));
    // All sequences may have ended in this step while others wait for their slots.
    if (this.running.size > 0 || this.waiting.length > 0) this.schedule(this.running.size > 0 ? Math.max(0, next) : 0);
  }

  private nextWaiting(): TextGenerationRequest | undefined {
    return this.waiting.find(({ mayUseSpareSlot }) => mayUseSpareSlot) ?? this.waiting[0];
  }

  private begin(request: TextGenerationRequest): void {
    const text = promptText(request);
    const directives = parseDirectives(lastMessage(request));
    const promptTokens = text.split(/\s+/).filter((word) => word !== '').length;
    if (promptTokens >= this.options.contextLength) {
      const error = contextOverflow(this.options.contextLength, {
        counted: String(promptTokens),
        param: 'param' in request.prompt ? request.prompt.param : 'messages',
      }).toWire();
      this.pendingEvents.push([request.id, { type: 'failed', error, usage: null }]);
      return;
    }
    const cachedTokens = Math.min(directives.cached ?? 0, promptTokens);
    const choices = Array.from({ length: request.n }, (_, index) => choiceOf(request, { text, directives, index }));
    this.running.set(request.id, { request, directives, choices, promptTokens, generated: 0, nextStepAtMs: 0 });
    this.promptTotal += promptTokens;
    const { prompt } = request;
    const reported = 'tokenIds' in prompt && prompt.reportsText === true ? { promptText: text } : {};
    // The message may hold calls.
    const called =
      request.tools !== undefined && directives.echo !== undefined ? { toolStyle: 'generic' as const } : {};
    this.pendingEvents.push([request.id, { type: 'prompt-ready', promptTokens, cachedTokens, ...reported, ...called }]);
  }

  private advance(active: ActiveRequest, now: number): void {
    const { request, directives } = active;
    const position = Math.max(0, ...active.choices.map((choice) => choice.position));
    const isDue = [directives.crash, directives.abort, directives.segv, directives.hang].some(
      (at) => at !== undefined && position >= at,
    );
    if (isDue && !this.isOver(directives, request)) {
      this.leaveNote(request);
      misbehave(directives, position);
    }
    if (directives.work !== undefined && position === 0) useProcessor(directives.work);
    if (directives.fail !== undefined && position >= directives.fail) {
      this.running.delete(request.id);
      const error = { code: 'INFERENCE_FAILED', message: 'The test engine was told to fail.' } as const;
      this.pendingEvents.push([request.id, { type: 'failed', error, usage: null }]);
      return;
    }
    if (directives.lose !== undefined && position >= directives.lose && !this.isOver(directives, request)) {
      this.leaveNote(request);
      this.running.delete(request.id);
      const error = { code: 'DEVICE_LOST', message: 'The test engine was told to lose its device.' } as const;
      this.pendingEvents.push([request.id, { type: 'failed', error, usage: null }]);
      return;
    }
    active.nextStepAtMs = now + (directives.delay ?? 0);
    for (const choice of active.choices) this.advanceChoice(active, choice);
    if (active.choices.every((choice) => choice.position > choice.words.length)) this.finish(active, false);
  }

  /** True when `once` is set and an earlier process has already failed. */
  private isOver({ once }: Directives, request: TextGenerationRequest): boolean {
    return once !== undefined && existsSync(this.notePath(request));
  }

  private leaveNote(request: TextGenerationRequest): void {
    if (this.options.notesFolder !== undefined) writeFileSync(this.notePath(request), '');
  }

  private notePath(request: TextGenerationRequest): string {
    const name = createHash('sha256').update(lastMessage(request)).digest('hex').slice(0, 20);
    return join(this.options.notesFolder ?? '', `over-${name}`);
  }

  private advanceChoice(active: ActiveRequest, choice: Choice): void {
    const { id, topLogprobs } = active.request;
    const word = choice.words[choice.position++];
    if (word === undefined) {
      if (choice.position > choice.words.length + 1) return;
      this.pendingEvents.push([
        id,
        {
          type: 'choice-finished',
          index: choice.index,
          finishReason: choice.finishReason,
          ...(choice.stopString !== undefined && { stopString: choice.stopString }),
        },
      ]);
      return;
    }
    active.generated++;
    this.generatedTotal++;
    const logprobs = topLogprobs === null ? null : [logprobOf(word, topLogprobs)];
    this.pendingEvents.push([id, { type: 'text-delta', index: choice.index, text: word, tokens: 1, logprobs }]);
  }

  private finish(active: ActiveRequest, cancelled: boolean): void {
    this.running.delete(active.request.id);
    const { promptTokens, generated } = active;
    const cachedTokens = Math.min(active.directives.cached ?? 0, promptTokens);
    const usage = { promptTokens, cachedTokens, completionTokens: generated, reasoningTokens: 0 };
    this.pendingEvents.push([active.request.id, { type: 'finished', cancelled, usage }]);
  }
}

function promptText({ prompt }: TextGenerationRequest): string {
  if ('text' in prompt) return prompt.text;
  if ('tokenIds' in prompt) return prompt.tokenIds.join(' ');
  return prompt.messages.map((message) => `${message.role}: ${message.content}`).join('\n');
}

function lastMessage({ prompt }: TextGenerationRequest): string {
  if ('text' in prompt) return prompt.text;
  return 'tokenIds' in prompt ? '' : (prompt.messages.at(-1)?.content ?? '');
}

function choiceOf(
  request: TextGenerationRequest,
  { text, directives, index }: { text: string; directives: Directives; index: number },
): Choice {
  const words = wordsOf(request, { text, directives, index });
  const limit = Math.min(words.length, request.maxTokens ?? words.length);
  const taken = words.slice(0, limit);
  const { words: cut, stopString } = cutAtStop(taken, request.stop);
  const finishReason = cut.length < taken.length || limit === words.length ? 'stop' : 'length';
  return { index, words: cut, finishReason, ...(stopString !== undefined && { stopString }), position: 0 };
}

function wordsOf(
  request: TextGenerationRequest,
  { text, directives, index }: { text: string; directives: Directives; index: number },
): string[] {
  const count = directives.tokens ?? 16;
  const words =
    directives.echo === undefined
      ? deterministicWords(text, { seed: request.sampling.seed ?? 0, index, count })
      : (lastMessage(request)
          .replace(/\[\[[^\]]*\]\]/g, '')
          .trim()
          .match(/\s*\S+/g) ?? []);
  if (directives.think === undefined) return words;
  return ['<think>', ...words.slice(0, directives.think), '</think>', ...words.slice(directives.think)];
}

/** The words before the first stop string; the word in which it begins is shortened. */
function cutAtStop(words: string[], stops: string[]): { words: string[]; stopString?: string } {
  const text = words.join('');
  const [first] = stops
    .map((stop) => ({ stop, place: text.indexOf(stop) }))
    .filter(({ place }) => place >= 0)
    .toSorted((left, right) => left.place - right.place);
  if (first === undefined) return { words };
  let room = first.place;
  const kept: string[] = [];
  for (const word of words) {
    if (room <= 0) break;
    kept.push(word.slice(0, room));
    room -= word.length;
  }
  return { words: kept, stopString: first.stop };
}

function logprobOf(word: string, alternatives: number): GeneratedTokenLogprob {
  const describe = (token: string, logprob: number) => ({
    token,
    logprob,
    bytes: [...new TextEncoder().encode(token)],
  });
  const others = vocabulary.slice(0, alternatives).map((token, rank) => describe(` ${token}`, -1 - rank));
  return { ...describe(word, -0.5), topLogprobs: [describe(word, -0.5), ...others].slice(0, alternatives) };
}

/** Blocks the event loop, like a long run of a model. */
function useProcessor(ms: number): void {
  const start = process.cpuUsage();
  const usedMs = () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1_000;
  };
  while (usedMs() < ms) createHash('sha256').update(vocabulary.join()).digest();
}

function misbehave({ crash, abort, segv, hang }: Directives, position: number): void {
  if (crash !== undefined && position >= crash) process.kill(process.pid, 'SIGKILL');
  if (abort !== undefined && position >= abort) process.kill(process.pid, 'SIGABRT');
  if (segv !== undefined && position >= segv) process.kill(process.pid, 'SIGSEGV');
  // Blocks the event loop forever, like a run call that never returns, without using CPU time.
  if (hang !== undefined && position >= hang) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
