import { join } from 'node:path';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { ClassifyInput, ClassifyOutput } from '../../images/image-tasks.js';
import { patternImage } from '../../images/pixel-grid.js';
import { resizePlanes, samplePlanes } from '../../images/resize.js';
import { openGraph } from '../../runtime/open-graph.js';

const side = 224;
/** In the order of the network's output. */
const classes = ['drawing', 'hentai', 'neutral', 'porn', 'sexy'] as const;

/**
 * MobileNetV2 that classifies images into five classes (https://github.com/infinitered/nsfwjs); samples from 0 to 1.
 */
export const loadNsfwMobilenetFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads } = options;
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });

  const classify = async ({ image }: ClassifyInput, context: TaskContext): Promise<ClassifyOutput> => {
    const samples = resizePlanes(samplePlanes(image), side, side).data.map((sample) => sample / 255);
    const feeds = { input: session.tensor('float32', samples, [1, 3, side, side]) };
    await context.yieldToEventLoop();
    const { output } = await context.measure(() => session.run(feeds, ['output']));
    const scores = output?.data as Float32Array;
    return { scores: Object.fromEntries(classes.map((name, index) => [name, scores[index] ?? 0])) };
  };
  const engine = new QueuedTaskEngine({ handlers: { classify }, sink, onClose: () => session.release() });
  const { provider, providerNote } = session;
  const warmUp = { task: 'classify', input: { image: patternImage(side, side) } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};
