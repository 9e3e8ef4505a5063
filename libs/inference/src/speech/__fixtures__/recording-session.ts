import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { GraphSession, GraphTensor, TensorData } from '../../runtime/graph-session.js';

/** Records its feeds, and returns one sample per step of an input. */
export class RecordingSession implements GraphSession {
  readonly inputs = [];
  readonly outputs = [];
  readonly provider = 'cpu';
  readonly providerNote = null;
  readonly fed: Record<string, GraphTensor>[] = [];

  /** `input`: its second dimension counts the steps; `output`: the samples, behind as many dimensions of one as `ones`. */
  constructor(private readonly names: { input: string; output: string; ones: number }) {}

  tensor(type: string, data: TensorData, dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  run(feeds: Record<string, GraphTensor>): Promise<Record<string, GraphTensor>> {
    const { input, output, ones } = this.names;
    this.fed.push(feeds);
    const length = feeds[input]?.dims[1] ?? 0;
    const dims = [...new Array<number>(ones).fill(1), length];
    return Promise.resolve({ [output]: { type: 'float32', data: new Float32Array(length).fill(1), dims } });
  }

  release(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the values of a feed of the first run. */
  numbers(name: string): number[] {
    const data = this.fed[0]?.[name]?.data ?? [];
    return [...(data as Iterable<number | bigint>)].map(Number);
  }
}

/** A task that is alone in its engine. */
export const onlyTask = {
  yieldToEventLoop: () => Promise.resolve(),
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;
