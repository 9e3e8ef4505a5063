import type { EngineEvent, EngineSink, HostLoadOptions, TaskEngine, TaskRequest } from '#inference/host';

type LoadFamily = (options: HostLoadOptions, sink: EngineSink) => Promise<{ engine: object }>;

/** A task engine with recorded events, followed by task id. */
export class TaskEngineRun {
  readonly events: [id: string, event: EngineEvent][] = [];
  engine!: TaskEngine;
  private hear: (() => void) | null = null;

  async load(family: LoadFamily, options: HostLoadOptions): Promise<void> {
    const { engine } = await family(options, (batch) => {
      this.events.push(...batch);
      this.hear?.();
    });
    this.engine = engine as TaskEngine;
  }

  /** Events of a task. */
  told(id: string): EngineEvent[] {
    return this.events.flatMap(([of, event]) => (of === id ? [event] : []));
  }

  /** Progress values, in order. */
  fractions(id: string): number[] {
    return this.told(id).flatMap((event) => (event.type === 'task-progress' ? [event.fraction] : []));
  }

  /** Resolves with the next events. */
  async heard(): Promise<void> {
    await new Promise<void>((resolve) => (this.hear = resolve));
  }

  /** Last event of a task. */
  async ended(id: string): Promise<EngineEvent> {
    for (;;) {
      const last = this.told(id).at(-1);
      if (last?.type === 'task-finished' || last?.type === 'failed') return last;
      await this.heard();
    }
  }

  /** Result of a task; rejects if it fails or is cancelled. */
  async run(request: TaskRequest): Promise<object> {
    this.engine.submit(request);
    const last = await this.ended(request.id);
    if (last.type !== 'task-finished' || last.output === null) throw new Error(JSON.stringify(last));
    return last.output;
  }
}
