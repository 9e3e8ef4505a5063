import {
  loadFamilyEngine,
  type TextGenerationEngine,
  type TextGenerationEvent,
  type TextGenerationRequest,
} from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { InstalledModel } from '#model-store';

/** Result of one request, assembled from its events. */
export interface GeneratedText {
  text: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  finishReason: string | null;
  /** The tokens, in the order of `logprobs`; both are empty unless the request wants log-probabilities. */
  tokens: string[];
  logprobs: number[];
}

/** An engine with a real model, with promises instead of events. */
export class EngineRun {
  private readonly listeners = new Map<string, (event: TextGenerationEvent) => void>();
  private started = 0;

  private constructor(private readonly model: InstalledModel) {}

  private engine!: TextGenerationEngine;
  /** Whether this processor computes the model's texts to the same bits in any batch. */
  isBatchInvariant = false;

  static async load(model: InstalledModel, slots = 16): Promise<EngineRun> {
    const run = new EngineRun(model);
    const { manifest, folder } = model;
    const loaded = await loadFamilyEngine(
      hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots }),
      (events) => {
        for (const [id, event] of events) run.listeners.get(id)?.(event as TextGenerationEvent);
      },
    );
    run.engine = loaded.engine as TextGenerationEngine;
    run.isBatchInvariant = loaded.batchInvariant === true;
    return run;
  }

  get modelId(): string {
    return this.model.manifest.id;
  }

  generate(content: string, options: Partial<TextGenerationRequest> = {}): Promise<GeneratedText> {
    const id = `request-${this.started++}`;
    const result: GeneratedText = {
      text: '',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      finishReason: null,
      tokens: [],
      logprobs: [],
    };
    return new Promise((resolve, reject) => {
      this.listeners.set(id, (event) => {
        if (event.type === 'text-delta') {
          result.text += event.text;
          result.tokens.push(...(event.logprobs ?? []).map(({ token }) => token));
          result.logprobs.push(...(event.logprobs ?? []).map(({ logprob }) => logprob));
        } else if (event.type === 'choice-finished') result.finishReason = event.finishReason;
        else if (event.type === 'failed') reject(new Error(event.error.message));
        else if (event.type === 'finished') {
          const { promptTokens, cachedTokens, completionTokens } = event.usage;
          resolve({ ...result, promptTokens, cachedTokens, completionTokens });
        }
      });
      this.engine.submit({
        id,
        prompt: { messages: [{ role: 'user', content }] },
        n: 1,
        sampling: { temperature: 0 },
        maxTokens: 40,
        stop: [],
        stopTokenIds: [],
        topLogprobs: null,
        ...options,
      });
    });
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}
