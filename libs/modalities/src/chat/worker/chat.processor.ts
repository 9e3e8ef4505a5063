import type {
  OutputConstraint,
  PromptImage,
  RunEvent,
  TextGenerationRequest,
  TextGenerationRunner,
} from '#inference/host';
import type { JobReport, JobStartedEvent, RunningJob } from '#queue';
import type { ChatEvent, ChatJobMessage, ChatJobPayload } from '../contract/index.js';
import type { ChatImageReader } from './chat-image.reader.js';
import { ChoiceChannels } from './choice-channels.js';
import { MergedEvents } from './merged-events.js';

/** Runs one chat job on the model's host and sends its events to the reply channel of the caller. */
export class ChatProcessor {
  constructor(
    private readonly runner: TextGenerationRunner,
    private readonly images: Pick<ChatImageReader, 'read'>,
  ) {}

  /** Rejects with the host's `PlatformError`. A cancelled job resolves, with what it generated. */
  async process(job: RunningJob<ChatJobPayload>): Promise<JobReport> {
    const startedAt = performance.now();
    const { payload, stream: isStream } = job.envelope;
    const isWhole = isStream === false;
    let stream = new ChatEventStream(payload);
    let merged = new MergedEvents();
    // For a non-streamed response, a restart on the same worker is as good as one on another worker.
    const started: JobStartedEvent = { type: 'job-started' };
    const onRestart = () => {
      stream = new ChatEventStream(payload);
      merged = new MergedEvents();
      job.replies.send(started);
    };
    const send = (events: ChatEvent[]): void => {
      if (events.length > 0) job.replies.send(...events);
    };
    const images = await this.images.read(payload.messages);
    const { cancelled, usage } = await this.runner.run(requestOf(job, images), {
      signal: job.signal,
      onRestart: isWhole ? onRestart : undefined,
      onEvents: (events) => {
        const sent = events.flatMap((event) => stream.translate(event));
        send(isWhole ? merged.add(sent) : sent);
      },
    });
    send(merged.take());
    return {
      usage: { ...usage, reasoningTokens: stream.reasoningTokens },
      cancelled,
      executionMs: Math.round(performance.now() - startedAt),
    };
  }
}

/** Turns engine events into reply events; the reasoning of each choice takes its own channel. */
class ChatEventStream {
  private readonly choices = new Map<number, ChoiceChannels>();
  private startsInside = false;

  constructor(private readonly payload: ChatJobPayload) {}

  get reasoningTokens(): number {
    return [...this.choices.values()].reduce((sum, choice) => sum + choice.reasoningTokens, 0);
  }

  translate(event: RunEvent): ChatEvent[] {
    switch (event.type) {
      case 'prompt-ready': {
        this.startsInside = event.opensThinking ?? false;
        const { promptTokens, cachedTokens } = event;
        return [{ type: 'prompt-ready', promptTokens, cachedTokens }];
      }
      case 'text-delta':
        return this.choice(event.index).push(event);
      case 'choice-finished':
        return [...this.choice(event.index).finish(), event];
    }
  }

  private choice(index: number): ChoiceChannels {
    const known = this.choices.get(index);
    if (known !== undefined) return known;
    const { stripThinking, format } = this.payload;
    const choice = new ChoiceChannels(index, {
      startsInside: this.startsInside,
      stripThinking,
      // A tag inside of a JSON string is text.
      hasThinking: format === undefined,
    });
    this.choices.set(index, choice);
    return choice;
  }
}

function requestOf({ envelope }: RunningJob<ChatJobPayload>, images: PromptImage[]): TextGenerationRequest {
  const { payload } = envelope;
  const { messages, enableThinking, reasoningEffort } = payload;
  return {
    id: envelope.requestId,
    prompt: {
      messages: messages.map(templateMessage),
      ...(images.length === 0 ? {} : { images }),
      enableThinking,
      reasoningEffort,
    },
    n: payload.n,
    sampling: { ...payload.sampling },
    maxTokens: payload.maxTokens,
    stop: payload.stop,
    stopTokenIds: payload.stopTokenIds,
    topLogprobs: payload.topLogprobs ?? null,
    constraint: constraintOf(payload),
  };
}

function constraintOf({ format }: ChatJobPayload): OutputConstraint | undefined {
  if (format === undefined) return undefined;
  const { type, schema, param } = format;
  return type === 'json-object' ? { type, param } : { type, schema: schema ?? {}, param };
}

function templateMessage({ role, content, name, reasoningContent, images }: ChatJobMessage) {
  const imagePositions = images?.map(({ position }) => position);
  return { role, content, name, reasoning_content: reasoningContent, imagePositions };
}
