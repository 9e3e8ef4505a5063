import { loadFamilyEngine, type TextGenerationEngine, type TextGenerationEvent } from '#inference';
import type { HostLoadOptions, TextEngineStats, TextGenerationRequest } from '#inference/host';
import { sharedNowMs } from './contender.js';
import type { StreamTiming } from './timing.js';

/** What a measured request asks for; `startMs` is when its wait began, on the clock of `sharedNowMs`. */
export interface DirectRequest extends Pick<TextGenerationRequest, 'id' | 'sampling' | 'constraint'> {
  prompt: string;
  maxTokens: number;
  startMs: number;
}

/** Times and text of a measured request. */
export interface DirectRun extends StreamTiming {
  text: string;
}

/** Our engine in this process, without HTTP, queue or stream. */
export class DirectEngine {
  private readonly listeners = new Map<string, (event: TextGenerationEvent) => void>();
  private engine: TextGenerationEngine | null = null;

  async load(options: HostLoadOptions): Promise<{ provider: string; providerNote: string | null }> {
    const loaded = await loadFamilyEngine(options, (events) => {
      for (const [id, event] of events) this.listeners.get(id)?.(event as TextGenerationEvent);
    });
    this.engine = loaded.engine as TextGenerationEngine;
    return { provider: loaded.provider, providerNote: loaded.providerNote };
  }

  stats(): TextEngineStats {
    if (this.engine === null) throw new Error('The engine is not loaded.');
    return this.engine.stats();
  }

  /** Resolves with the times of one request's pieces; rejects if it fails. */
  generate({ id, prompt, maxTokens, sampling, constraint, startMs }: DirectRequest): Promise<DirectRun> {
    return new Promise((resolve, reject) => {
      const pieceMs: number[] = [];
      let text = '';
      this.listeners.set(id, (event) => {
        if (event.type === 'text-delta') {
          pieceMs.push(sharedNowMs());
          text += event.text;
        }
        if (event.type === 'failed') reject(new Error(event.error.message));
        if (event.type !== 'finished') return;
        this.listeners.delete(id);
        const { completionTokens, promptTokens } = event.usage;
        resolve({ startMs, pieceMs, tokens: completionTokens, promptTokens, text });
      });
      this.engine?.submit({
        id,
        prompt: { messages: [{ role: 'user', content: prompt }] },
        n: 1,
        sampling,
        maxTokens,
        stop: [],
        stopTokenIds: [],
        topLogprobs: null,
        constraint,
      });
    });
  }
}
