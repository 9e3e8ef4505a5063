import { serveBench } from '../bare-child.js';
import type { ChildRun } from './child.contender.js';
import { runLanes, type RunPlan, sharedNowMs } from './contender.js';
import { DirectEngine } from './direct-engine.js';

/* Our engine in a process of its own, without HTTP, queue or stream. The difference is the overhead of the platform. */

const engine = new DirectEngine();

async function run({ requests, concurrency }: RunPlan): Promise<ChildRun> {
  const startMs = sharedNowMs();
  const sampling = { temperature: 0 };
  const timings = await runLanes(requests, concurrency, ({ id, prompt, maxTokens }) =>
    engine.generate({ id, prompt, maxTokens, sampling, startMs }),
  );
  return { timings };
}

serveBench((options) => engine.load(options), run);
