import { serveTasks } from '../bare-tasks.js';

interface TaskRuns {
  task: string;
  inputs: object[];
}

// One after another, as the worker asks for them.
serveTasks(async (tasks, { task, inputs }: TaskRuns) => {
  const startedAt = performance.now();
  for (const input of inputs) await tasks.perform(task, input);
  return { ms: performance.now() - startedAt };
});
