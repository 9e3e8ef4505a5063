import type {
  OutputConstraint,
  PromptImage,
  RunEvent,
  TextGenerationRequest,
  TextGenerationRunner,
} from '#inference/host';
import { ChoiceChannels, type ReasoningFormat, type ToolStyleName, type ToolUse } from '#inference/output';
import type { JobReport, JobStartedEvent, RunningJob } from '#queue';
import {
  type ChatEvent,
  type ChatJobMessage,
  type ChatJobPayload,
  type TextDeltaEvent,
  webUnitsOf,
} from '../contract/index.js';
import type { ChatImageReader } from './chat-image.reader.js';
import { continuePrompts } from './continue-prompts.js';
import { MergedEvents } from './merged-events.js';
import { RunClock } from './run-clock.js';
import { ToolChannel } from './tool-channel.js';

/** Runs one chat job on the model's host and sends its events to the reply channel of the caller. */
export class ChatProcessor {
  constructor(
    private readonly runner: TextGenerationRunner,
    private readonly images: Pick<ChatImageReader, 'read'>,
  ) {}

  /** Rejects with the host's `PlatformError`. A cancelled job resolves, with what it generated. */
  async process(job: RunningJob<ChatJobPayload>): Promise<JobReport> {
    if (job.envelope.payload.prompts !== undefined) return await continuePrompts(this.runner, job);
    const clock = new RunClock();
    const { payload, stream: isStream } = job.envelope;
    const isWhole = isStream === false;
    let stream = new ChatEventStream(payload);
    let merged = new MergedEvents();
    // For a non-streamed response, a restart on the same worker is as good as one on another worker.
    const started: JobStartedEvent = { type: 'job-started' };
    const accepted = { type: 'job-accepted' } as const;
    const onRestart = () => {
      clock.startAgain();
      stream = new ChatEventStream(payload);
      merged = new MergedEvents();
      job.replies.send(started);
    };
    const send = (events: ChatEvent[]): void => {
      if (events.length > 0) job.replies.send(...events);
    };
    const images = await this.images.read(payload);
    const { cancelled, usage } = await this.runner.run(requestOf(job, images), {
      signal: job.signal,
      onRestart: isWhole ? onRestart : undefined,
      onEvents: (events) => {
        clock.see(events);
        if (events.some(({ type }) => type === 'constraint-ready')) job.replies.send(accepted);
        const sent = events.flatMap((event) => stream.translate(event));
        send(isWhole ? merged.add(sent) : sent);
      },
    });
    send(merged.take());
    return {
      usage: { ...usage, reasoningTokens: stream.reasoningTokens ?? usage.reasoningTokens, units: webUnitsOf(payload) },
      cancelled,
      ...clock.report(),
    };
  }
}

/** Turns engine events into reply events; the reasoning of each choice takes its own channel. */
class ChatEventStream {
  private readonly choices = new Map<number, ChoiceChannels>();
  private readonly toolChannels = new Map<number, ToolChannel>();
  private startsInside = false;
  private reasoning: ReasoningFormat | undefined;
  private toolStyle: ToolStyleName | undefined;

  private readonly toolUse: ToolUse | undefined;

  constructor(private readonly payload: ChatJobPayload) {
    this.toolUse = toolUseOf(payload);
  }

  /** Null for a sealed request: only the host can tell reasoning from the rest. */
  get reasoningTokens(): number | null {
    if (this.payload.sealing !== undefined) return null;
    return [...this.choices.values()].reduce((sum, choice) => sum + choice.reasoningTokens, 0);
  }

  translate(event: RunEvent): ChatEvent[] {
    switch (event.type) {
      case 'prompt-ready': {
        this.startsInside = event.opensThinking ?? false;
        this.reasoning = event.reasoning;
        this.toolStyle = event.toolStyle;
        const { promptTokens, cachedTokens, relaxed } = event;
        return [{ type: 'prompt-ready', promptTokens, cachedTokens, ...(relaxed && { relaxed }) }];
      }
      case 'constraint-ready':
      // Only prompts without a conversation are scored.
      case 'prompt-scores':
        return [];
      case 'sealed-delta': {
        const { index, channel, field: text, tokens } = event;
        return [{ type: 'text-delta', index, channel, text, tokens, logprobs: null }];
      }
      case 'text-delta':
        // The host of a sealed request sends no text in clear.
        if (this.payload.sealing !== undefined) return [];
        return this.withCalls(event.index, this.choice(event.index).push(event));
      case 'choice-finished': {
        const isCut = event.finishReason === 'length';
        const rest = this.withCalls(event.index, this.choice(event.index).finish(isCut));
        return [...rest, ...this.finished(event)];
      }
    }
  }

  private withCalls(index: number, events: TextDeltaEvent[]): ChatEvent[] {
    const tools = this.toolChannel(index);
    return tools === null ? events : events.flatMap((event) => tools.push(event));
  }

  private finished(event: Extract<RunEvent, { type: 'choice-finished' }>): ChatEvent[] {
    const tools = this.toolChannel(event.index);
    const rest = tools?.finish(event.finishReason === 'length' ? [''] : this.payload.stop) ?? [];
    const finishReason = tools?.hasCalls && event.finishReason === 'stop' ? 'tool_calls' : event.finishReason;
    return [...rest, { ...event, finishReason }];
  }

  private toolChannel(index: number): ToolChannel | null {
    if (this.toolUse === undefined || this.toolStyle === undefined) return null;
    const { toolUse: use, toolStyle: style } = this;
    const hasFormat = this.payload.format !== undefined;
    const known = this.toolChannels.get(index) ?? new ToolChannel(index, style, { use, hasFormat });
    this.toolChannels.set(index, known);
    return known;
  }

  private choice(index: number): ChoiceChannels {
    const known = this.choices.get(index);
    if (known !== undefined) return known;
    const { startsInside, reasoning: format } = this;
    const choice = new ChoiceChannels(index, { startsInside, format, stripThinking: this.payload.stripThinking });
    this.choices.set(index, choice);
    return choice;
  }
}

function requestOf({ envelope }: RunningJob<ChatJobPayload>, images: PromptImage[]): TextGenerationRequest {
  const { payload } = envelope;
  const { messages, enableThinking, reasoningEffort, thinkingBudget } = payload;
  return {
    id: envelope.requestId,
    prompt: {
      messages: messages.map(templateMessage),
      ...(images.length === 0 ? {} : { images }),
      enableThinking,
      reasoningEffort,
      thinkingBudget,
    },
    ...(payload.cacheSeconds === undefined ? {} : { cacheMs: payload.cacheSeconds * 1_000 }),
    ...(envelope.mayUseSpareSlot === true && { mayUseSpareSlot: true }),
    cacheScope: payload.cacheScope,
    caller: payload.caller,
    platformCharacters: payload.platformCharacters,
    n: payload.n,
    sampling: { ...payload.sampling, logitBias: payload.logitBias },
    maxTokens: payload.maxTokens,
    stop: payload.stop,
    stopTokenIds: payload.stopTokenIds,
    topLogprobs: payload.topLogprobs ?? null,
    countsOnly: payload.countsOnly,
    ...(payload.reportsAcceptance === true && { reportsConstraint: true }),
    truncates: payload.truncates,
    constraint: constraintOf(payload),
    tools: toolUseOf(payload),
    ...(payload.sealing && { sealing: { ...payload.sealing, stripThinking: payload.stripThinking } }),
  };
}

function constraintOf({ format }: ChatJobPayload): OutputConstraint | undefined {
  if (format === undefined) return undefined;
  const { type, schema, pattern, grammar, param, strict = false } = format;
  switch (type) {
    case 'json-object':
      return { type, param };
    case 'json-schema':
      return { type, schema: schema ?? {}, param, isStrict: strict };
    case 'regex':
      return { type, pattern: pattern ?? '', param };
    case 'grammar':
      return { type, grammar: grammar ?? '', param };
  }
}

function templateMessage(message: ChatJobMessage) {
  const { role, content, name, reasoningContent, toolCalls, toolCallId, images, cacheMark } = message;
  const imagePositions = images?.map(({ position }) => position);
  return { role, content, name, reasoning_content: reasoningContent, toolCalls, toolCallId, imagePositions, cacheMark };
}

/** How a job may use its tools; undefined without any, or where it must not call them. */
function toolUseOf({
  tools = [],
  toolChoice = 'auto',
  allowedTools,
  parallelToolCalls = true,
}: ChatJobPayload): ToolUse | undefined {
  if (tools.length === 0 || toolChoice === 'none') return undefined;
  const isNamed = typeof toolChoice === 'object';
  return {
    tools: tools.map(({ name, description, parameters, strict, param, textFormat }, index) => ({
      name,
      description,
      parameters,
      isStrict: strict,
      param: param ?? `tools[${index}].function.parameters`,
      textFormat,
    })),
    allowed: isNamed ? [toolChoice.name] : allowedTools,
    isRequired: isNamed || toolChoice === 'required',
    // A named function is called once.
    isParallel: parallelToolCalls && !isNamed,
  };
}
