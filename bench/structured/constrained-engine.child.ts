import type { OutputConstraint } from '#inference/host';
import { serveBench } from '../bare-child.js';
import { runLanes, sharedNowMs } from '../text/contender.js';
import { DirectEngine } from '../text/direct-engine.js';
import type { StreamTiming } from '../text/timing.js';
import type { ConstrainedPlan, ConstrainedRequest } from './plans.js';

/* Our engine in a process of its own. The same engine generates with and without constraints. */

const engine = new DirectEngine();

async function run({ requests }: ConstrainedPlan): Promise<{ timings: StreamTiming[] }> {
  return { timings: await runLanes(requests, requests.length, generate) };
}

function generate({ id, prompt, maxTokens, schema, temperature }: ConstrainedRequest): Promise<StreamTiming> {
  const sampling = temperature === 0 ? { temperature } : { temperature, seed: 1 };
  const constraint: OutputConstraint | undefined =
    schema === null ? undefined : { type: 'json-schema', schema, param: 'schema' };
  return engine.generate({ id, prompt, maxTokens, sampling, constraint, startMs: sharedNowMs() });
}

serveBench((options) => engine.load(options), run);
