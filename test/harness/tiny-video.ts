import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, noCapabilities } from '#model-registry/manifest';
import { GraphBuilder, type OnnxGraph, writeOnnxModel } from '#model-store';
import { installFixture } from './install-fixture.js';

/*
 * Video models in the published layouts with verifiable outputs: the frame between two is their average, an upscaled
 * frame has every pixel four times. For tests only.
 */

/** `in0`, `in1`: frames; `in2`: the time between them; `out`: their mixture. */
function mixerGraph(): OnnxGraph {
  const graph = new GraphBuilder('tiny-mixer');
  const first = graph.input('in0', 'float32', [1, 3, 'h', 'w']);
  const last = graph.input('in1', 'float32', [1, 3, 'h', 'w']);
  const moment = graph.input('in2', 'float32', [1, 1, 'h', 'w']);
  const step = graph.node('Mul', [graph.node('Sub', [last, first]), moment]);
  graph.node('Add', [first, step], {}, 'out');
  graph.output('out', 'float32', [1, 3, 'h', 'w']);
  return graph.build();
}

/** `input` to `output`, twice as large. */
function doublerGraph(): OnnxGraph {
  const graph = new GraphBuilder('tiny-doubler');
  const input = graph.input('input', 'float32', [1, 3, 'h', 'w']);
  const copies = graph.node('Concat', [input, input, input, input], { axis: 1 });
  graph.node('DepthToSpace', [copies], { blocksize: 2 }, 'output');
  graph.output('output', 'float32', [1, 3, 'h2', 'w2']);
  return graph.build();
}

export interface TinyVideoOptions {
  id?: string;
  /** Overrides of the generated manifest. */
  manifest?: Partial<ModelManifest>;
}

const price = (usd: number) => ({ usd, diem: usd });

/** A model of family `rife`; default id `tiny-rife`, 0.01 USD per second. */
export async function installTinyInterpolator(home: string, options: TinyVideoOptions = {}): Promise<ModelManifest> {
  return await install(home, mixerGraph(), {
    ...base(options.id ?? 'tiny-rife', 'rife'),
    constraints: {
      model_type: 'image-to-video',
      aspect_ratios: [],
      resolutions: ['256p', '360p'],
      durations: ['1s', '2s', '5s', '10s', 'auto'],
      audio: true,
      audio_configurable: true,
    },
    kindMembers: {
      supported_inputs: ['image_url', 'end_image_url', 'keyframes', 'video_url', 'resolution', 'fps'],
      frame_rates: [24, 12, 60],
      max_source_seconds: 20,
    },
    pricing: { per_second: price(0.01), resolutions: { '360p': price(0.02) } },
    ...options.manifest,
  });
}

/** A model of family `esrgan`; default id `tiny-upscaler`, 0.03 USD per second. */
export async function installTinyUpscaler(home: string, options: TinyVideoOptions = {}): Promise<ModelManifest> {
  return await install(home, doublerGraph(), {
    ...base(options.id ?? 'tiny-upscaler', 'esrgan'),
    constraints: {
      model_type: 'video',
      aspect_ratios: [],
      resolutions: [],
      durations: [],
      audio: true,
      audio_configurable: true,
    },
    kindMembers: { supported_inputs: ['video_url'], upscale_factors: [2], max_source_seconds: 20 },
    pricing: { upscale: { '2x': price(0.03) } },
    ...options.manifest,
  });
}

function base(id: string, family: string): ModelManifest {
  return {
    id,
    type: 'video',
    name: id,
    description: 'Computes frames that a test can check: a fixture.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://example.org/tiny',
    license: 'Apache-2.0',
    family,
    tier: 'XS',
    privacy: 'private',
    sources: [{ uri: 'file:tiny', files: [] }],
    converter: { kind: 'none' },
    graphFile: 'model.onnx',
    slots: 1,
    capabilities: noCapabilities,
  };
}

async function install(home: string, graph: OnnxGraph, manifest: ModelManifest): Promise<ModelManifest> {
  await installFixture(home, { id: manifest.id }, async (folder) => {
    await writeOnnxModel(graph, { folder, fileName: manifest.graphFile });
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  });
  return manifest;
}
