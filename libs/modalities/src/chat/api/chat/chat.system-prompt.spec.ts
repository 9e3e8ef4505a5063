import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledManifestFolder, loadManifestFolder } from '#model-registry/manifest';
import { SystemPrompts } from './chat.system-prompt.js';

const logger = { error: () => undefined };
const instructed = { traits: { instruct: 1 } };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-prompt-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function openOn(text: string): Promise<SystemPrompts> {
  const systemPromptFile = join(folder, 'prompt.txt');
  await writeFile(systemPromptFile, text);
  return await SystemPrompts.open({ systemPromptFile }, logger);
}

describe('the default system prompt', () => {
  it('is that of the platform, then that of the manifest', async () => {
    const prompts = await openOn('\nBe brief.\n');
    expect(await prompts.of(instructed)).toBe('Be brief.');
    expect(await prompts.of({ ...instructed, systemPrompt: 'You are a pirate.\n' })).toBe(
      'Be brief.\n\nYou are a pirate.',
    );
  });

  it('of the platform is for models that follow instructions only', async () => {
    const prompts = await openOn('Be brief.');
    expect(await prompts.of({ traits: { default: 1 } })).toBeNull();
    expect(await prompts.of({ systemPrompt: 'Once upon a time' })).toBe('Once upon a time');
    expect(await (await openOn('')).of(instructed)).toBeNull();
  });

  it('is bundled, short, and meant for the chat model but not for the story model', async () => {
    const prompts = await SystemPrompts.open({}, logger);
    const manifests = await loadManifestFolder(bundledManifestFolder());
    const of = async (id: string) => await prompts.of(manifests.find((manifest) => manifest.id === id) ?? {});
    expect((await of('tinyllama-1.1b-chat'))?.length).toBeGreaterThan(20);
    expect((await of('tinyllama-1.1b-chat'))?.length).toBeLessThan(400);
    expect(await of('stories-15m')).toBeNull();
  });

  it('must be readable', async () => {
    const missing = { systemPromptFile: join(folder, 'none.txt') };
    await expect(SystemPrompts.open(missing, logger)).rejects.toThrow('none.txt: ENOENT');
  });
});
