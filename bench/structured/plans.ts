import { promptOf } from '../text/workload.js';
import { everydaySchema } from './schemas.js';

/** One stream of a run. */
export interface ConstrainedRequest {
  id: string;
  prompt: string;
  maxTokens: number;
  /** Null: any text. */
  schema: object | null;
  temperature: number;
}

/** Streams that start together. */
export interface ConstrainedPlan {
  requests: ConstrainedRequest[];
}

export interface PlanShape {
  streams: number;
  promptTokens: number;
  outputTokens: number;
  temperature: number;
}

/** How the schema of a run is known to the engine: not at all, from an earlier run, or never seen. */
export type SchemaUse = 'none' | 'cached' | 'new';

/** Every run has its own prompts, so that no prefix is cached. */
export function planOf(name: string, run: number, use: SchemaUse, shape: PlanShape): ConstrainedPlan {
  const title = use === 'new' ? `${name} ${run}` : 'cached';
  const schema = use === 'none' ? null : everydaySchema(title);
  return {
    requests: Array.from({ length: shape.streams }, (_, index) => ({
      id: `${name}-${run}-${index}`,
      prompt: promptOf(shape.promptTokens, (run + 100) * 1_000 + index + name.length * 37),
      maxTokens: shape.outputTokens,
      schema,
      temperature: shape.temperature,
    })),
  };
}
