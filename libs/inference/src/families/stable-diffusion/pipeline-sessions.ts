import { join } from 'node:path';
import type { HostLoadOptions } from '../../contract/engine-loader.js';
import { latentsBeside } from '../../diffusion/device-latents.js';
import type { LatentOperations } from '../../diffusion/latent-operations.js';
import { openGraph } from '../../runtime/open-graph.js';
import type { GraphSession } from '../../runtime/graph-session.js';

/**
 * Opens the graphs of a pipeline in the diffusers layout, one folder each. The graphs run in turn, so their threads
 * must not spin.
 */
export class PipelineSessions {
  private readonly opened: { release(): Promise<void> }[] = [];

  constructor(private readonly options: HostLoadOptions) {}

  async open(part: string): Promise<GraphSession> {
    const { directory, providers, intraOpThreads } = this.options;
    const modelPath = join(directory, part, 'model.onnx');
    const session = await openGraph({
      modelPath,
      providers,
      intraOpThreads,
      spinning: false,
      returnsMemory: true,
    });
    this.opened.push(session);
    return session;
  }

  /** Opens the operations on the latents of a graph. */
  latentsOf(unet: GraphSession): LatentOperations {
    const operations = latentsBeside(unet);
    this.opened.push(operations);
    return operations;
  }

  async close(): Promise<void> {
    for (const part of this.opened) await part.release();
  }
}
