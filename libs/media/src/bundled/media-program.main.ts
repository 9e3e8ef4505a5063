import { writeSync } from 'node:fs';
import type { MediaTask } from '../tools/media-task.js';
import { loadNativeAv } from './native-av.js';
import { runTask } from './run-task.js';

/*
 * Entry point of the bundled media program: one process, one task, like a run of ffmpeg. It blocks on its standard
 * input and output, so neither side gets ahead of the other. Exit code 0 means that the task was carried out.
 */

const [task = ''] = process.argv.slice(2);
try {
  const av = loadNativeAv();
  if (task === '-version') writeSync(1, `ffmpeg version ${av.getFFmpegInfo().version}\n`);
  else runTask(av, JSON.parse(task) as MediaTask);
} catch (error) {
  writeSync(2, `${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
