import type { TokenUsage } from '#common';
import type {
  EngineLoader,
  GeneratedTokenLogprob,
  HostLoadOptions,
  LoadedEngine,
  TextGenerationEngine,
  TextGenerationEvent,
  TextGenerationRequest,
} from '#inference/host';

/** How one request of a conformance suite ended. */
export interface FamilyResult {
  /** Text of each choice. */
  texts: string[];
  finishReasons: (string | undefined)[];
  /** Of all choices, in order of arrival. */
  logprobs: GeneratedTokenLogprob[];
  usage: TokenUsage;
  cancelled: boolean;
}

/** A loaded model with one promise per request. */
export class FamilyRun {
  private readonly listeners = new Map<string, (event: TextGenerationEvent) => void>();
  private loaded: LoadedEngine | null = null;
  private count = 0;

  private constructor() {}

  static async load(loader: EngineLoader, options: HostLoadOptions): Promise<FamilyRun> {
    const run = new FamilyRun();
    run.loaded = await loader(options, (events) => {
      for (const [id, event] of events) run.listeners.get(id)?.(event as TextGenerationEvent);
    });
    return run;
  }

  get engine(): TextGenerationEngine {
    if (this.loaded === null) throw new Error('the model is not loaded');
    return this.loaded.engine as TextGenerationEngine;
  }

  /** Cancels the request that was asked last. */
  cancelLast(): void {
    this.engine.cancel(`request-${this.count}`);
  }

  /** `onDelta` gets a function that cancels the request. */
  ask(
    content: string,
    overrides: Partial<TextGenerationRequest> = {},
    onDelta: (cancel: () => void) => void = () => undefined,
  ): Promise<FamilyResult> {
    const id = `request-${++this.count}`;
    const texts: string[] = [];
    const logprobs: GeneratedTokenLogprob[] = [];
    const finishReasons: (string | undefined)[] = [];
    return new Promise((resolve, reject) => {
      this.listeners.set(id, (event) => {
        if (event.type === 'text-delta') {
          texts[event.index] = (texts[event.index] ?? '') + event.text;
          logprobs.push(...(event.logprobs ?? []));
          onDelta(() => this.engine.cancel(id));
        } else if (event.type === 'choice-finished') finishReasons[event.index] = event.finishReason;
        else if (event.type === 'failed') reject(new Error(`${event.error.code}: ${event.error.message}`));
        else if (event.type === 'finished') {
          resolve({ texts, finishReasons, logprobs, usage: event.usage, cancelled: event.cancelled });
        }
      });
      this.engine.submit({
        id,
        prompt: { messages: [{ role: 'user', content }] },
        n: 1,
        sampling: { temperature: 0 },
        stop: [],
        stopTokenIds: [],
        topLogprobs: null,
        ...overrides,
      });
    });
  }
}
