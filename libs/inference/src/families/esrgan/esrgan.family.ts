import { join } from 'node:path';
import { PlatformError } from '#common';
import { QueuedTaskEngine, type TaskContext } from '../../engines/queued-task.engine.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import type { ImageOutput, UpscaleInput } from '../../images/image-tasks.js';
import { emptyImage } from '../../images/pixel-grid.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { upscaleTiles } from './upscale-tiles.js';

type Scale = UpscaleInput['scale'];

/**
 * ESRGAN and similar networks: fully convolutional, color planes from 0 to 1, one graph per factor. `graphFile` is the
 * graph of factor 2, `familyOptions.fourfoldFile` that of factor 4. `familyOptions.margin` is the receptive field of an
 * output pixel, in pixels (default 16).
 */
export const loadEsrganFamily: EngineLoader = async (options, sink) => {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const { fourfoldFile, margin = 16 } = familyOptions;
  const files = new Map<Scale, string>([[2, graphFile]]);
  if (typeof fourfoldFile === 'string') files.set(4, fourfoldFile);
  const sessions = new Map<Scale, GraphSession>();
  for (const [scale, file] of files) {
    const modelPath = join(directory, file);
    // Tiles have one size, so the arena of onnxruntime takes what one of them needs, whatever the image.
    sessions.set(scale, await openGraph({ modelPath, providers, intraOpThreads, spinning: false }));
  }

  const upscale = async ({ image, scale }: UpscaleInput, context: TaskContext): Promise<ImageOutput> => {
    const session = sessions.get(scale);
    if (session === undefined)
      throw new PlatformError('INVALID_REQUEST', `This model does not support upscaling by ${scale}.`);
    return { image: await upscaleTiles(session, { image, scale, margin: Number(margin), context }) };
  };
  const engine = new QueuedTaskEngine({
    handlers: { upscale },
    sink,
    onClose: async () => {
      for (const session of sessions.values()) await session.release();
    },
  });
  const [first] = sessions.values();
  const { provider = 'cpu', providerNote = null } = first ?? {};
  const warmUp = { task: 'upscale', input: { image: emptyImage(64, 64), scale: 2 } };
  return { engine, provider, providerNote, slots: 1, warmUp };
};
