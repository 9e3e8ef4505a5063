import type { OutputConstraint } from '#inference/host';
import { serveBench } from '../bare-child.js';
import { runLanes, sharedNowMs } from '../text/contender.js';
import { DirectEngine, type DirectRun } from '../text/direct-engine.js';
import type { SpeculationTask } from './tasks.js';

/* Our engine in a process of its own, with or without drafts. */

/** Answers that are generated at the same time. */
export interface SpeculationPlan {
  tasks: SpeculationTask[];
  maxTokens: number;
}

export interface SpeculationRun {
  runs: DirectRun[];
  drafted: number;
  accepted: number;
}

const engine = new DirectEngine();
let requests = 0;

async function run({ tasks, maxTokens }: SpeculationPlan): Promise<SpeculationRun> {
  const before = engine.stats();
  const runs = await runLanes(tasks, tasks.length, ({ prompt, schema }) => {
    const constraint: OutputConstraint | undefined =
      schema === null ? undefined : { type: 'json-schema', schema, param: 'schema' };
    const id = `r${(requests += 1)}`;
    return engine.generate({ id, prompt, maxTokens, sampling: { temperature: 0 }, constraint, startMs: sharedNowMs() });
  });
  const after = engine.stats();
  return {
    runs,
    drafted: after.draftTokensTotal - before.draftTokensTotal,
    accepted: after.acceptedDraftTokensTotal - before.acceptedDraftTokensTotal,
  };
}

serveBench((options) => engine.load(options), run);
