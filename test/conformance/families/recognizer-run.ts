import type { EngineEvent, EngineLoader, LoadedEngine, TaskEngine } from '#inference/host';
import { type RecognitionInput, type RecognitionOutput, recognitionTask } from '#inference/tasks';
import type { ModelManifest } from '#model-registry/manifest';

/** A loaded recognizer with one promise per block. */
export class RecognizerRun {
  private readonly listeners = new Map<string, (event: EngineEvent) => void>();
  private loaded: LoadedEngine | null = null;
  private count = 0;

  private constructor() {}

  static async load(loader: EngineLoader, directory: string, manifest: ModelManifest): Promise<RecognizerRun> {
    const run = new RecognizerRun();
    const { id, graphFile, family, familyOptions = {} } = manifest;
    const options = { modelId: id, directory, graphFile, family, familyOptions, providers: ['cpu'] };
    run.loaded = await loader(
      { ...options, intraOpThreads: 2, slots: 1, contextLength: 0, cacheTokens: 0 },
      (events) => {
        for (const [of, event] of events) run.listeners.get(of)?.(event);
      },
    );
    return run;
  }

  /** `onStart` gets a function that cancels the task. */
  recognize(
    overrides: Partial<RecognitionInput> & Pick<RecognitionInput, 'samples'>,
    onStart: (cancel: () => void) => void = () => undefined,
  ): Promise<RecognitionOutput> {
    const id = `block-${++this.count}`;
    const input: RecognitionInput = {
      isLast: true,
      language: null,
      prompt: null,
      temperature: null,
      timestamps: 'none',
      memory: null,
      ...overrides,
    };
    return new Promise((resolve, reject) => {
      this.listeners.set(id, (event) => {
        if (event.type === 'failed') reject(new Error(`${event.error.code}: ${event.error.message}`));
        else if (event.type === 'task-finished') {
          if (event.cancelled) reject(new Error('cancelled'));
          else resolve(event.output as RecognitionOutput);
        }
      });
      this.engine.submit({ id, task: recognitionTask, input });
      onStart(() => this.engine.cancel(id));
    });
  }

  /** Graph runs so far. */
  steps(): number {
    return this.engine.stats().stepsTotal;
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  private get engine(): TaskEngine {
    if (this.loaded === null) throw new Error('the model is not loaded');
    return this.loaded.engine as TaskEngine;
  }
}
