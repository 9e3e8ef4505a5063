import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { WeightsServer } from '#test/weights-server';
import { draftManifest } from './draft-manifest.js';

const commit = 'c'.repeat(40);
const settings = {
  audio: { sample_rate: 16_000 },
  espeak: { voice: 'en-gb' },
  phoneme_id_map: { _: [0], '^': [1], $: [2], a: [3] },
  num_speakers: 2,
  speaker_id_map: { ann: 0, ben: 1 },
};
const graph = Buffer.alloc(1_000, 1);
const settingsOf = (changes: object = {}) => Buffer.from(JSON.stringify({ ...settings, ...changes }));

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'draft-voice-'));
  server = await WeightsServer.start();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
  await server.close();
});

async function write(name: string, changes: object = {}): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, graph);
  await writeFile(`${path}.json`, settingsOf(changes));
  return path;
}

describe('the draft of a voice', () => {
  it('has its speakers and rate, and what pronounces English as bundled voices have it', async () => {
    const path = await write('en_GB-pair-low.onnx');
    const { manifest, facts } = await draftManifest(`file:${path}`, {}, { inputPriceUsd: 2, license: 'MIT' });
    expect(manifest).toMatchObject({
      id: 'en_gb-pair-low',
      name: 'en_GB-pair-low',
      type: 'tts',
      family: 'piper',
      license: 'MIT',
      graphFile: 'en_GB-pair-low.onnx',
      kindMembers: { voices: ['ann', 'ben'], pcm_sample_rate: 16_000 },
      pricing: { input: { usd: 2, diem: 2 } },
    });
    const [voice, ...pronouncer] = manifest.sources;
    expect(voice?.files.map((file) => file.path)).toEqual(['en_GB-pair-low.onnx', 'en_GB-pair-low.onnx.json']);
    const bundled = parse(await readFile('models/piper-en-us-joe.yaml', 'utf8')) as { sources: unknown[] };
    expect(pronouncer).toEqual(bundled.sources.slice(1));
    expect(facts.summary).toBe('piper, ONNX graphs en_GB-pair-low.onnx');
    expect(manifest.installedBytes).toBeGreaterThan(9_000_000);
  });

  it('needs no pronouncer where the voice reads letters', async () => {
    const path = await write('de_DE-letters-low.onnx', { phoneme_type: 'text', espeak: { voice: 'de' } });
    const { manifest } = await draftManifest(`file:${path}`, {});
    expect(manifest.sources).toHaveLength(1);
  });

  it('names the folder no more than a file does', async () => {
    await write('en_GB-pair-low.onnx');
    expect((await draftManifest(`file:${folder}`, {})).manifest.id).toBe('en_gb-pair-low');
  });

  it('is of the voice that is named, where a repository has several', async () => {
    const voice = (language: string, name: string, changes = {}) => ({
      [`${language}/${name}/${name}.onnx`]: graph,
      [`${language}/${name}/${name}.onnx.json`]: settingsOf(changes),
    });
    const files = { ...voice('en', 'en_US-amy-medium'), ...voice('de', 'de_DE-eva-low', { espeak: { voice: 'de' } }) };
    server.addRepository('team/voices', commit, files);
    const hub = { hubEndpoint: server.url };
    for (const name of ['en_US-amy-medium', 'en_US-amy-medium.onnx', 'en/en_US-amy-medium/en_US-amy-medium.onnx']) {
      const { manifest } = await draftManifest(`hf:team/voices:${name}`, hub);
      expect(manifest.id).toBe('en_us-amy-medium');
      expect(manifest.sources[0]?.uri).toBe(`hf:team/voices@${commit}`);
      expect(manifest.sources[0]?.files[0]?.path).toBe('en/en_US-amy-medium/en_US-amy-medium.onnx');
    }
    await expect(draftManifest('hf:team/voices', hub)).rejects.toThrow(
      'hf:team/voices has several voices; name one, as in hf:team/voices:de_DE-eva-low. There are: de_DE-eva-low, en_US-amy-medium.',
    );
    await expect(draftManifest('hf:team/voices:amy', hub)).rejects.toThrow(
      /has no voice amy\. There are: de_DE-eva-low/,
    );
    await expect(draftManifest('hf:team/voices:de_DE-eva-low', hub)).rejects.toThrow(/only English can be served/);
  });

  it('is found in an npm package', async () => {
    await server.addPackage('some-voice', '1.0.0', {
      'package.json': Buffer.from('{"name":"some-voice","version":"1.0.0","license":"MIT"}'),
      'data/en_US-amy-medium.onnx': graph,
      'data/en_US-amy-medium.onnx.json': settingsOf(),
    });
    const { manifest } = await draftManifest('npm:some-voice@1.0.0', { npm: { registry: server.url } });
    expect(manifest).toMatchObject({ id: 'en_us-amy-medium', license: 'MIT' });
  });

  it('refuses options that change nothing', async () => {
    const path = await write('en_GB-pair-low.onnx');
    for (const options of [{ contextLength: 100 }, { outputPriceUsd: 1 }, { weights: 'int8' as const }]) {
      await expect(draftManifest(`file:${path}`, {}, options)).rejects.toThrow(/changes nothing for .*family piper/);
    }
  });

  it('leaves a graph without settings to others', async () => {
    await mkdir(join(folder, 'plain'));
    const path = await write('en_GB-pair-low.onnx');
    await cp(path, join(folder, 'plain', 'model.onnx'));
    await expect(draftManifest(`file:${join(folder, 'plain')}`, {})).rejects.toThrow('has no readable config.json');
  });
});
