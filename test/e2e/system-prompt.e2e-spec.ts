import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deterministicManifest, installDeterministicModel } from '#test/deterministic-model';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* Default system prompts through the whole platform. The deterministic engine counts the characters of a prompt. */

const ofPlatform = 'Answer in plain words.';
const ofManifest = 'You are a sailor.';

let home: string;
let platform: Platform;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const systemPromptFile = join(home, 'prompt.txt');
  await writeFile(systemPromptFile, `${ofPlatform}\n`);
  const manifests = [
    deterministicManifest('tiny-llama', { traits: { default: 2, instruct: 1 }, systemPrompt: ofManifest }),
    deterministicManifest('tiny-stories', { traits: { default: 1 } }),
  ];
  for (const manifest of manifests) await installDeterministicModel(home, manifest);
  platform = await startPlatform({ home, manifests, env: { SLUICE_SYSTEM_PROMPT_FILE: systemPromptFile } });
});

afterEach(async () => {
  await platform.closedJobs();
  await expectInvariant(platform);
});

afterAll(async () => {
  await platform?.stop();
  await rm(home, { recursive: true, force: true });
});

interface Completion {
  usage: { prompt_tokens: number; completion_tokens: number };
  cost: { usd: number };
}

async function chat(model: string, more: object = {}, system: string[] = []): Promise<Completion> {
  const messages = [...system.map((content) => ({ role: 'system', content })), { role: 'user', content: 'Hello.' }];
  const response = await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_completion_tokens: 4, ...more }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

const without = { service_parameters: { include_service_system_prompt: false } };

describe('the default system prompts', () => {
  it('count as prompt tokens and are charged', async () => {
    const both = await chat('tiny-llama');
    const given = await chat('tiny-llama', without, [`${ofPlatform}\n\n${ofManifest}`]);
    const none = await chat('tiny-llama', without);
    expect(both.usage.prompt_tokens).toBe(given.usage.prompt_tokens);
    expect(both.usage.prompt_tokens).toBeGreaterThan(none.usage.prompt_tokens);
    const { prompt_tokens: prompt, completion_tokens: completion } = both.usage;
    expect(both.cost.usd).toBeCloseTo((prompt * 1 + completion * 2) / 1_000_000, 12);
  });

  it('precede the system messages of the caller', async () => {
    const appended = await chat('tiny-llama', {}, ['Be brief.']);
    const given = await chat('tiny-llama', without, [ofPlatform, ofManifest, 'Be brief.']);
    expect(appended.usage.prompt_tokens).toBe(given.usage.prompt_tokens);
  });

  it('are left out by the suffix of the model, too', async () => {
    const none = await chat('tiny-llama', without);
    const suffixed = await chat('tiny-llama:include_service_system_prompt=false');
    expect(suffixed.usage.prompt_tokens).toBe(none.usage.prompt_tokens);
  });

  it('do not reach a model that follows no instructions', async () => {
    const usual = await chat('tiny-stories');
    expect(usual.usage.prompt_tokens).toBe((await chat('tiny-stories', without)).usage.prompt_tokens);
  });
});
