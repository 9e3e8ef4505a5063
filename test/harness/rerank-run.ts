import type { TaskEngine, TaskEvent } from '#inference/host';
import type { RerankInput, RerankOutput, RerankPart } from '#inference/tasks';

export interface RankedTexts {
  /** In the order of the documents; for a cancelled task only the computed ones. */
  scores: number[];
  tokens: number;
  cancelled: boolean;
}

interface OpenTask {
  scores: number[];
  resolve: (result: RankedTexts) => void;
  reject: (error: Error) => void;
}

/** Requests scores from an engine, one promise per request. Pass it `sink`, then set `engine`. */
export class RerankRun {
  engine: TaskEngine | null = null;
  private readonly open = new Map<string, OpenTask>();
  private count = 0;

  readonly sink = (events: [id: string, event: object][]): void => {
    for (const [id, event] of events) this.hear(id, event as TaskEvent);
  };

  /** `onId` receives the id for cancelling. Rejects with `<code>: <message> (<param>)`. */
  rerank(
    {
      query,
      documents,
      maxTokensPerDocument = null,
      instruction,
    }: Partial<RerankInput> & { query: string; documents: string[] },
    onId: (id: string) => void = () => undefined,
  ): Promise<RankedTexts> {
    const id = `rerank-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.open.set(id, { scores: [], resolve, reject });
      this.engine?.submit({ id, task: 'rerank', input: { query, documents, maxTokensPerDocument, instruction } });
      onId(id);
    });
  }

  private hear(id: string, event: TaskEvent): void {
    const task = this.open.get(id);
    if (task === undefined) throw new Error(`an event for ${id} after its end`);
    if (event.type === 'task-progress') return;
    if (event.type === 'task-part') {
      const { indexes, scores } = event.part as RerankPart;
      for (const [row, index] of indexes.entries()) task.scores[index] = scores[row] ?? Number.NaN;
      return;
    }
    this.open.delete(id);
    if (event.type === 'task-finished') {
      const { tokens } = event.output as RerankOutput;
      task.resolve({ scores: task.scores, tokens, cancelled: event.cancelled });
    } else task.reject(new Error(`${event.error.code}: ${event.error.message} (${event.error.param})`));
  }
}
