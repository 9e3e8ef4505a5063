import type { TaskEngine, TaskEvent } from '#inference/host';
import type { EmbeddingOutput, EmbeddingPart } from '#inference/tasks';

export interface EmbeddedTexts {
  /** In the order of the texts; for a cancelled task only the computed ones. */
  vectors: Float32Array[];
  tokens: number;
  cancelled: boolean;
}

interface OpenTask {
  vectors: Float32Array[];
  resolve: (result: EmbeddedTexts) => void;
  reject: (error: Error) => void;
}

/** Requests vectors from an engine, one promise per request. Pass it `sink`, then set `engine`. */
export class EmbeddingRun {
  private readonly open = new Map<string, OpenTask>();
  private loaded: TaskEngine | null = null;
  private count = 0;

  get engine(): TaskEngine {
    if (this.loaded === null) throw new Error('there is no engine yet');
    return this.loaded;
  }

  set engine(engine: TaskEngine) {
    this.loaded = engine;
  }

  readonly sink = (events: [id: string, event: object][]): void => {
    for (const [id, event] of events) this.hear(id, event as TaskEvent);
  };

  /** `onId` receives the id for cancelling. Rejects with `<code>: <message> (<param>)`. */
  embed(
    texts: string[] | { tokenIds: number[][] },
    dimensions: number | null = null,
    onId: (id: string) => void = () => undefined,
  ): Promise<EmbeddedTexts> {
    const id = `embedding-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.open.set(id, { vectors: [], resolve, reject });
      const given = Array.isArray(texts) ? { texts } : { texts: [], ...texts };
      this.engine.submit({ id, task: 'embed', input: { ...given, dimensions } });
      onId(id);
    });
  }

  private hear(id: string, event: TaskEvent): void {
    const task = this.open.get(id);
    if (task === undefined) throw new Error(`an event for ${id} after its end`);
    if (event.type === 'task-part') return this.take(task, event.part as EmbeddingPart);
    if (event.type === 'task-progress') return;
    this.open.delete(id);
    if (event.type === 'task-finished') {
      const { tokens } = event.output as EmbeddingOutput;
      task.resolve({ vectors: task.vectors, tokens, cancelled: event.cancelled });
    } else task.reject(new Error(`${event.error.code}: ${event.error.message} (${event.error.param})`));
  }

  private take({ vectors }: OpenTask, part: EmbeddingPart): void {
    for (const [row, index] of part.indexes.entries()) {
      vectors[index] = part.vectors.slice(row * part.dimensions, (row + 1) * part.dimensions);
    }
  }
}
