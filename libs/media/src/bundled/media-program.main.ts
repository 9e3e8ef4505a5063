import { writeSync } from 'node:fs';
import type { MediaOrder } from '../tools/media-order.js';
import { loadNativeAv } from './native-av.js';
import { runOrder } from './run-order.js';

/*
 * Entry point of the bundled media program: one process, one order, like a run of ffmpeg. It blocks on its standard
 * input and output, so neither side gets ahead of the other. Exit code 0 means that the order was carried out.
 */

const [order = ''] = process.argv.slice(2);
try {
  const av = loadNativeAv();
  if (order === '-version') writeSync(1, `ffmpeg version ${av.getFFmpegInfo().version}\n`);
  else runOrder(av, JSON.parse(order) as MediaOrder);
} catch (error) {
  writeSync(2, `${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
