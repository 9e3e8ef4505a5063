import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelManifest, validateManifest } from '#model-registry/manifest';
import { modelFolder, pullModels, silentReporter } from '#model-store';

/** Transcript of eleven seconds of John F. Kennedy's inaugural address (public domain). */
export const jfkWords =
  'and so my fellow americans ask not what your country can do for you ask what you can do for your country';

/** A manifest with a recording instead of a model: it is downloaded, verified and stored like weights. */
const recording: ModelManifest = validateManifest(
  {
    id: 'jfk-recording',
    type: 'asr',
    name: 'A recording',
    description: 'Eleven seconds of speech for tests.',
    created: 1_700_000_000,
    ownedBy: 'sluice',
    modelSource: 'https://github.com/ggml-org/whisper.cpp',
    license: 'MIT',
    family: 'none',
    tier: 'XS',
    privacy: 'private',
    sources: [
      {
        uri: 'npm:nodejs-whisper@0.3.1',
        files: [
          {
            path: 'cpp/whisper.cpp/bindings/go/samples/jfk.wav',
            as: 'jfk.wav',
            bytes: 352_078,
            sha256: '59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e',
          },
        ],
      },
    ],
    converter: { kind: 'none' },
    graphFile: 'jfk.wav',
  },
  'jfk-recording.yaml',
);

/** The WAV file: 16 kHz, mono, 16 bits. Downloaded into `home` once. */
export async function jfkRecording(home: string): Promise<Buffer> {
  const [result] = await pullModels({ home, manifests: [recording], reporter: silentReporter });
  if (result?.status === 'failed') throw result.error;
  return await readFile(join(modelFolder(home, recording.id), 'jfk.wav'));
}
