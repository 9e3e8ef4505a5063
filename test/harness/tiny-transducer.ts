import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelManifest } from '#model-registry/manifest';
import { draftManifest, writeOnnxModel } from '#model-store';
import { installFixture } from './install-fixture.js';
import { tinyVoiceGraph } from './tiny-models/tiny-whisper-graphs.js';

const fixture = new URL('../../libs/inference/src/families/parakeet/__fixtures__/joined', import.meta.url).pathname;

/**
 * Installs a transducer of random weights at `<home>/models/tiny-parakeet`, which knows English and German, with the
 * manifest that `models add` drafts for it. Its words are meaningless; for tests only.
 */
export async function installTinyTransducer(home: string): Promise<ModelManifest> {
  const id = 'tiny-parakeet';
  return await installFixture(home, { id }, async (folder) => {
    await cp(fixture, folder, { recursive: true });
    await writeOnnxModel(tinyVoiceGraph(), { folder, fileName: 'silero_vad.onnx' });
    const { manifest: draft } = await draftManifest(`file:${fixture}`, {}, { id });
    const familyOptions = { ...draft.familyOptions, languages: 'de,en' };
    const pricing = { per_audio_second: { usd: 0.001, diem: 0.001 } };
    const manifest = { ...draft, familyOptions, pricing, sources: [{ uri: 'file:tiny', files: [] }] };
    await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(manifest)}\n`);
    return manifest;
  });
}
