import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { dumpStore } from '#test/store-dump';
import { installTinyModel } from '#test/tiny-models';
import { installTinyImages } from '#test/tiny-images';
import { installTinyKokoro } from '#test/tiny-voice';

/*
 * All logs at the finest level, and all that the stores hold and have logged, for texts, media and errors of every kind: they contain
 * ids, and no prompt or answer.
 */

/** Client text, none of which may appear in a log. */
const words = {
  prompt: 'zebrafinch sings at midnight',
  prefix: 'quokka in the system prompt',
  image: 'wombat painted in oil',
  speech: 'Axolotl says good morning.',
  brokenJson: 'narwhal outside of quotes',
  wrongField: 'pangolin where a number belongs',
  address: 'capybara-in-the-query',
  idempotency: 'okapi-idempotency-key-1',
  user: 'tapir-the-user',
};

const secrets = {
  s3: 'planted-s3-secret-8c1f',
  rpc: 'planted-rpc-token-77aa',
  wrongKey: `slk_${'planted0'.repeat(6)}`,
};

let home: string;
let platform: Platform;
let logged = '';
let stored: Buffer;
const ids: string[] = [];
const answers: string[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
  const manifests = [
    await installTinyModel(home, { id: 'tiny-llama' }),
    ...(await installTinyImages(home)),
    await installTinyKokoro(home),
  ];
  platform = await startPlatform({
    engine: 'text',
    // Its whole log is read.
    ownPostgres: true,
    home,
    manifests,
    env: {
      LOG_LEVEL: 'trace',
      SLUICE_S3_ACCESS_KEY_ID: 'planted',
      SLUICE_S3_SECRET_ACCESS_KEY: secrets.s3,
      SLUICE_STAKE_RPC_URL: `https://rpc.invalid/${secrets.rpc}`,
      SLUICE_STAKE_CONTRACT: `0x${'1'.repeat(40)}`,
    },
    onLog: (text) => {
      logged += text;
    },
  });
  await writeAll();
  await platform.closedJobs();
  stored = await dumpStore(platform.databaseUrl);
  // Output during shutdown counts too.
  await Promise.all((['api', 'worker', 'ops'] as const).map((name) => platform.kill(name, 'SIGTERM')));
});

afterAll(async () => {
  try {
    if (platform) await expectInvariant(platform);
  } finally {
    await platform?.stop();
    await rm(home, { recursive: true, force: true });
  }
});

async function post(path: string, body: string | object, headers: Record<string, string> = {}) {
  const response = await fetch(`${platform.baseUrl}/${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = Buffer.from(await response.arrayBuffer());
  return { status: response.status, id: response.headers.get('cf-ray') ?? '', answer };
}

const chat = {
  model: 'tiny-llama',
  user: words.user,
  max_completion_tokens: 24,
  messages: [
    { role: 'system', content: words.prefix },
    { role: 'user', content: words.prompt },
  ],
};

/** Every kind of request, and every failure that can be provoked here. */
async function writeAll(): Promise<void> {
  const whole = await post('chat/completions', chat, { 'idempotency-key': words.idempotency });
  const streamed = await post('chat/completions', { ...chat, stream: true });
  const paint = { model: 'tiny-painter', prompt: words.image, width: 16, height: 16, safe_mode: false };
  const image = await post('image/generate', paint);
  const speech = await post('audio/speech', { input: words.speech, response_format: 'wav' });
  for (const { id, status } of [whole, streamed, image, speech]) {
    expect(status).toBe(200);
    ids.push(id);
  }
  const { choices } = JSON.parse(whole.answer.toString()) as { choices: { message: { content: string } }[] };
  answers.push(choices[0]?.message.content ?? '');
  const refused = [
    await post('chat/completions', `{"model": "tiny-llama", ${words.brokenJson}`),
    await post('chat/completions', { ...chat, temperature: words.wrongField }),
    await post('chat/completions', { ...chat, model: words.wrongField }),
    await post('chat/completions', { ...chat, messages: [{ role: 'user', content: words.prompt.repeat(2_000) }] }),
    await post('chat/completions', { ...chat, n: 2 }, { 'idempotency-key': words.idempotency }),
    await post('chat/completions', chat, { authorization: `Bearer ${secrets.wrongKey}` }),
    await post(`nowhere?token=${words.address}`, chat),
    await post(
      'api_keys',
      { description: words.wrongField, apiKeyType: 'X' },
      { authorization: `Bearer ${platform.adminKey}` },
    ),
  ];
  for (const { status } of refused) expect(status).toBeGreaterThanOrEqual(400);
  // A host that dies during a request makes the worker, the API and ops log more than usual.
  const lost = post('chat/completions', { ...chat, max_completion_tokens: 200, stream: true });
  process.kill(platform.hostPid('tiny-llama'), 'SIGKILL');
  await lost;
}

function linesOf(name: string): Record<string, unknown>[] {
  return logged
    .split('\n')
    .map((line) => line.replace(/^(api|worker|ops): /, ''))
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.name === name);
}

describe('the logs of a complete run', () => {
  it('exist for every process', () => {
    for (const name of ['api', 'worker', 'ops']) expect(linesOf(name).length).toBeGreaterThan(3);
    expect(logged).toContain('model host ended; restarting it');
  });

  it.each(Object.entries(words))('contain nothing that clients wrote: %s', (_kind, text) => {
    expect(logged).not.toContain(text);
    expect(logged).not.toContain(text.split(/[ -]/)[0]);
  });

  it('contain nothing that models generated', () => {
    expect(answers[0]?.trim().length).toBeGreaterThan(10);
    for (const answer of answers) expect(logged).not.toContain(answer.trim());
  });

  it('contain no secret', () => {
    const databasePassword = new URL(platform.databaseUrl).password;
    const all = [...Object.values(secrets), platform.inferenceKey, platform.adminKey, platform.secretKey];
    for (const secret of all) expect(logged).not.toContain(secret);
    // Neither without its first characters, nor a database password.
    expect(logged).not.toMatch(/slk_[A-Za-z0-9]{12}/);
    expect(logged).not.toMatch(/postgres(ql)?:\/\/[^\s"]*:[^\s"]*@/);
    if (databasePassword.length > 8) expect(logged).not.toContain(databasePassword);
  });

  it('track each request by its id through api, worker and ops', () => {
    for (const id of ids) {
      for (const name of ['api', 'worker', 'ops']) {
        expect(
          linesOf(name).some(({ requestId }) => requestId === id),
          `${id} in ${name}`,
        ).toBe(true);
      }
    }
  });
});

describe('the stores of a complete run, with their logs', () => {
  it('hold no prompt, in whatever form its job was kept, queued or answered', () => {
    for (const id of ids) expect(stored.includes(id)).toBe(true);
    for (const text of [words.prompt, words.prefix, words.image, words.speech, words.brokenJson]) {
      expect(stored.includes(text), text).toBe(false);
      expect(stored.includes(Buffer.from(text, 'utf16le')), text).toBe(false);
      expect(stored.includes(Buffer.from(text).toString('base64').slice(0, 16)), text).toBe(false);
    }
  });

  it('hold nothing that models generated', () => {
    for (const answer of answers) expect(stored.includes(answer.trim())).toBe(false);
  });
});
