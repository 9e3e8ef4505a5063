import { embeddingTask } from '#inference/tasks';
import { serveTasks } from '../bare-tasks.js';
import { runLanes } from '../text/contender.js';
import type { EmbeddingPlan, EmbeddingTimes } from './embedders.js';

serveTasks(async (tasks, { requests, callers }: EmbeddingPlan): Promise<EmbeddingTimes> => {
  const embed = async (texts: string[]): Promise<number> => {
    const startedAt = performance.now();
    await tasks.perform(embeddingTask, { texts, dimensions: null });
    return performance.now() - startedAt;
  };
  const startedAt = performance.now();
  const requestMs = await runLanes(requests, callers, embed);
  return { ms: performance.now() - startedAt, requestMs };
});
