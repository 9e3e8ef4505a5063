import { serveTasks } from '../bare-tasks.js';

interface TaskRuns {
  task: string;
  inputs: object[];
}

// Sequential, as the worker sends them.
serveTasks(async (tasks, { task, inputs }: TaskRuns) => {
  const startedAt = performance.now();
  for (const input of inputs) await tasks.perform(task, input);
  return { ms: performance.now() - startedAt };
});
