import type { GraphSession, GraphTensor, TensorType } from '../../runtime/graph-session.js';
import { VisionSession } from './vision-session.js';

/** A vision encoder for tests: records what it is fed and returns zeros. */
export class RecordingVision {
  readonly runs: Record<string, GraphTensor>[] = [];
  readonly session: VisionSession;

  /** `tokens` positions per run, or as many as a function of the inputs says. */
  constructor(inputs: Record<string, TensorType>, tokens: number | ((feeds: Record<string, GraphTensor>) => number)) {
    const graph: GraphSession = {
      inputs: Object.entries(inputs).map(([name, type]) => ({ name, type, shape: [] })),
      outputs: [{ name: 'image_features', type: 'float32', shape: [] }],
      provider: 'cpu',
      providerNote: null,
      tensor: (type, data, dims) => ({ type, data, dims }),
      run: (feeds) => {
        this.runs.push(feeds);
        const count = typeof tokens === 'number' ? tokens : tokens(feeds);
        const dims = [1, count, 2];
        return Promise.resolve({ image_features: { type: 'float32', data: new Float32Array(count * 2), dims } });
      },
      release: () => Promise.resolve(),
    };
    this.session = new VisionSession(graph);
  }
}
