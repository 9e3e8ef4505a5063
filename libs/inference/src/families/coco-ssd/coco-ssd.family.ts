import { join } from 'node:path';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import { emptyImage } from '../../images/pixel-grid.js';
import type { DetectObjectsInput, DetectObjectsOutput } from '../../images/reading-tasks.js';
import { resizePlanes, samplePlanes } from '../../images/resize.js';
import { floatsOf } from '../../runtime/float-tensor.js';
import { openGraph } from '../../runtime/open-graph.js';
import { detectedBoxes } from './detected-boxes.js';

const side = 300;
const outputNames = ['boxes', 'scores', 'anchors'] as const;

/**
 * SSD with MobileNetV2 for the 80 classes of COCO (https://github.com/tensorflow/tfjs-models/tree/master/coco-ssd):
 * samples from -1 to 1.
 */
export const loadCocoSsdFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, providers, intraOpThreads } = options;
  const session = await openGraph({ modelPath: join(directory, graphFile), providers, intraOpThreads });

  const detect = async ({ image }: DetectObjectsInput, context: TaskContext): Promise<DetectObjectsOutput> => {
    const samples = resizePlanes(samplePlanes(image), side, side).data.map((sample) => sample / 127.5 - 1);
    const feeds = { input: session.tensor('float32', samples, [1, 3, side, side]) };
    await context.yieldToEventLoop();
    const outputs = await context.measure(() => session.run(feeds, [...outputNames]));
    const [boxes, scores, anchors] = outputNames.map((name) => floatsOf(outputs[name])) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    return { objects: detectedBoxes({ boxes, scores, anchors }, image) };
  };
  const engine = new QueuedTaskEngine({
    handlers: { 'detect-objects': detect },
    sink,
    onClose: () => session.release(),
  });
  const { provider, providerNote } = session;
  const warmUp = { task: 'detect-objects', input: { image: emptyImage(side, side) } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};
