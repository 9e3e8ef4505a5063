import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { GgufMetadata } from '../gguf/gguf-metadata.js';
import { readGgufHeader } from '../gguf/gguf-reader.js';
import { InputFile } from '../input-file.js';
import { tinyVisionConfig, tinyVisionNames } from '#test/tiny-vision-models';
import { findHubArchitecture } from '../safetensors/hub-architectures.js';
import { HubConfig } from '../safetensors/hub-config.js';
import { architectures } from './architectures.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../../..');
const page = readFileSync(join(root, 'docs/reference/model-architectures.md'), 'utf8');
const families = join(root, 'libs/inference/src/families');
/** Folders of models that write text, and of embedding models. */
const fixtures = ['decoder/__fixtures__/architectures', 'text-embedding/__fixtures__/gguf'].map((folder) =>
  join(families, folder),
);

describe('architectures', () => {
  it('are the first list in docs/reference/model-architectures.md', () => {
    const [, list = ''] = /^((?:- .+\n)+)/m.exec(page) ?? [];
    const items = [...list.matchAll(/^- `(.+?)`: (.+)$/gm)].map(([, name, models]) => [name, models]);
    expect(items).toEqual(Object.entries(architectures).map(([name, { models }]) => [name, models]));
  });

  it('each have a model with known answers', async () => {
    const files = fixtures.flatMap((folder) => readdirSync(folder).map((name) => ({ folder, name })));
    const models = files.filter(({ name }) => name.endsWith('.gguf'));
    const covered = await Promise.all([...models.map(architectureOf), ...tinyVisionNames.map(architectureOfVision)]);
    expect(Object.keys(architectures).filter((name) => !covered.includes(name))).toEqual([]);
  });
});

/** Models that read images are known as their authors publish them. */
async function architectureOfVision(name: string): Promise<string> {
  return findHubArchitecture(new HubConfig(await tinyVisionConfig(name))).architecture;
}

async function architectureOf({ folder, name }: { folder: string; name: string }): Promise<string> {
  const file = await InputFile.open(folder, name);
  try {
    return new GgufMetadata(name, (await readGgufHeader(file)).metadata).text('general.architecture');
  } finally {
    await file.close();
  }
}
