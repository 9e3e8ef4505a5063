import { type EngineEvent, loadFamilyEngine, type TaskEngine } from '#inference';
import { hostLoadOptions } from '#inference/host';
import type { GenerateInput, GenerateOutput, RgbPixels } from '#inference/tasks';
import { installedWeights } from './starter-weights.js';

/** Width and height of its images, in pixels. */
export const side = 128;

const defaults: GenerateInput = {
  prompt: '',
  negativePrompt: '',
  width: side,
  height: side,
  steps: 20,
  guidance: 4,
  seeds: [1],
  image: null,
  strength: 1,
  mask: null,
};

/** The text-to-image model of a fresh installation, on the processor. */
export interface Pictogram {
  /** The images of one request, one for each seed; one request at a time. */
  generate(input: Partial<GenerateInput>): Promise<RgbPixels[]>;
  close(): Promise<void>;
}

export async function loadPictogram(): Promise<Pictogram> {
  const { folder, manifest } = await installedWeights('pictogram');
  const options = hostLoadOptions({ manifest, directory: folder }, { providers: ['cpu'], threads: 2, slots: 1 });
  let hear: (event: EngineEvent) => void = () => undefined;
  const loaded = await loadFamilyEngine(options, (events) => events.forEach(([, event]) => hear(event)));
  const engine = loaded.engine as TaskEngine;
  return {
    generate: (input) =>
      new Promise((resolve, reject) => {
        hear = (event) => {
          if (event.type === 'failed') reject(new Error(event.error.message));
          else if (event.type === 'task-finished') resolve((event.output as GenerateOutput).images);
        };
        engine.submit({ id: 'one', task: 'generate', input: { ...defaults, ...input } });
      }),
    close: () => engine.close(),
  };
}
